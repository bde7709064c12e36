"""Send one request until it succeeds or cannot be retried."""

from adanalytics_client._quota import retry_after

__all__ = ["retry_after"]
