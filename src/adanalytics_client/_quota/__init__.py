"""The exact rolling hour of requests, shared by the processes of a user."""

from adanalytics_client._quota.headers import RATE_HEADERS, rate_window, retry_after
from adanalytics_client._quota.store import QuotaLog, QuotaStore, open_store
from adanalytics_client._quota.window import WINDOW, Moment, Permit, Quota, QuotaState, Wait

__all__ = [
    "RATE_HEADERS",
    "WINDOW",
    "Moment",
    "Permit",
    "Quota",
    "QuotaLog",
    "QuotaState",
    "QuotaStore",
    "Wait",
    "open_store",
    "rate_window",
    "retry_after",
]
