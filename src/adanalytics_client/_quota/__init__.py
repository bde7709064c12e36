"""The exact rolling hour of requests, shared by the processes of a user."""

from adanalytics_client._quota.headers import RATE_HEADERS, rate_window, retry_after
from adanalytics_client._quota.store import QuotaLog, Store, open_store
from adanalytics_client._quota.window import WINDOW, Hold, Moment, Quota, QuotaState, Sent

__all__ = [
    "RATE_HEADERS",
    "WINDOW",
    "Hold",
    "Moment",
    "Quota",
    "QuotaLog",
    "QuotaState",
    "Sent",
    "Store",
    "open_store",
    "rate_window",
    "retry_after",
]
