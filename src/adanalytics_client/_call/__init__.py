"""One request until it is answered well."""

from adanalytics_client._quota import retry_after

__all__ = ["retry_after"]
