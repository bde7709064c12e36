"""How a file is written beside its place, so that a kill leaves no half of it for long.

For programs that write files of their own, as the command line does.
"""

from adanalytics_client._base.files import open_beside

__all__ = ["open_beside"]
