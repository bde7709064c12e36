"""Write a file beside its destination, so that a kill leaves no half-written one for long.

For programs that write files of their own, as the command line does.
"""

from adanalytics_client._base.files import lock, make_folder, open_beside, put_in_place

__all__ = ["lock", "make_folder", "open_beside", "put_in_place"]
