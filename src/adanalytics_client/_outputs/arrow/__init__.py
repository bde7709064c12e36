"""Events and summaries as Arrow tables and files, with the `arrow` extra."""

from adanalytics_client._base.validation import import_extra

# Before a module of this folder imports it.
import_extra("pyarrow")
