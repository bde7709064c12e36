"""What an `Observer` receives.

Examples:
    >>> from adanalytics_client.observers import WaitStarted
    >>> WaitStarted("quota used up", 60, datetime(2026, 1, 15, 14, tzinfo=UTC)).seconds
    60
"""

from ._base.observer import (
    BytesReceived,
    BytesWritten,
    HoursVerified,
    HourWritten,
    PageDrift,
    PageReceived,
    PartialAnswer,
    PullPlanned,
    RequestDue,
    RequestSent,
    RetryPlanned,
    WaitStarted,
)

__all__ = [
    "BytesReceived",
    "BytesWritten",
    "HourWritten",
    "HoursVerified",
    "PageDrift",
    "PageReceived",
    "PartialAnswer",
    "PullPlanned",
    "RequestDue",
    "RequestSent",
    "RetryPlanned",
    "WaitStarted",
]
