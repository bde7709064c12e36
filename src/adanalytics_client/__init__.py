"""Typed access to the partner ad-analytics service, for threads and for asyncio.

Examples:
    >>> from adanalytics_client import Client
    >>> with Client("https://stats.example", api_key="...", partner="acme") as client:
    ...     for event in client.events("2026-01-15"):
    ...         print(event.event_type, event.revenue)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from adanalytics_client._version import __version__

if TYPE_CHECKING:
    from adanalytics_client._base.clock import Clock
    from adanalytics_client._base.dates import Period
    from adanalytics_client._base.observer import (
        BytesReceived,
        BytesWritten,
        HoursVerified,
        Observer,
        PageDrift,
        PageReceived,
        PartialAnswer,
        PullPlanned,
        RequestDue,
        RequestSent,
        RetryPlanned,
        WaitStarted,
    )
    from adanalytics_client._call.config import OnLimit
    from adanalytics_client._call.operations import GroupBy
    from adanalytics_client._call.retry import RetryPolicy
    from adanalytics_client._events import (
        DateRange,
        OnDrift,
        Page,
        Plan,
        SeenEvents,
        Slice,
        Split,
        TextPage,
    )
    from adanalytics_client._exports.status import (
        ExportFile,
        ExportOrder,
        ExportPhase,
        ExportStatus,
    )
    from adanalytics_client._outputs.open import Format
    from adanalytics_client._quota.window import QuotaState
    from adanalytics_client.aclient import AsyncClient
    from adanalytics_client.aevents import AsyncEventQuery
    from adanalytics_client.ajobs import AsyncExportJob
    from adanalytics_client.client import Client
    from adanalytics_client.errors import (
        AdAnalyticsError,
        AuthenticationError,
        ChecksumMismatch,
        ConfigurationError,
        DatasetDamaged,
        DatasetError,
        DatasetInUse,
        DownloadError,
        ExportError,
        ExportExpired,
        ExportFailed,
        ExportTimeout,
        FieldError,
        InvalidRequest,
        NotFound,
        PermissionDenied,
        ProtocolError,
        QueryError,
        QuotaExceeded,
        RateLimited,
        RequestLimitReached,
        RequestTimeout,
        ServerError,
        StatusError,
        TransportError,
        UnsuitablePlace,
    )
    from adanalytics_client.events import EventQuery
    from adanalytics_client.jobs import ExportJob
    from adanalytics_client.models import Event, Summary, SummaryRow

__all__ = [
    "AdAnalyticsError",
    "AsyncClient",
    "AsyncEventQuery",
    "AsyncExportJob",
    "AuthenticationError",
    "BytesReceived",
    "BytesWritten",
    "ChecksumMismatch",
    "Client",
    "Clock",
    "ConfigurationError",
    "DatasetDamaged",
    "DatasetError",
    "DatasetInUse",
    "DateRange",
    "DownloadError",
    "Event",
    "EventQuery",
    "ExportError",
    "ExportExpired",
    "ExportFailed",
    "ExportFile",
    "ExportJob",
    "ExportOrder",
    "ExportPhase",
    "ExportStatus",
    "ExportTimeout",
    "FieldError",
    "Format",
    "GroupBy",
    "HoursVerified",
    "InvalidRequest",
    "NotFound",
    "Observer",
    "OnDrift",
    "OnLimit",
    "Page",
    "PageDrift",
    "PageReceived",
    "PartialAnswer",
    "Period",
    "PermissionDenied",
    "Plan",
    "ProtocolError",
    "PullPlanned",
    "QueryError",
    "QuotaExceeded",
    "QuotaState",
    "RateLimited",
    "RequestDue",
    "RequestLimitReached",
    "RequestSent",
    "RequestTimeout",
    "RetryPlanned",
    "RetryPolicy",
    "SeenEvents",
    "ServerError",
    "Slice",
    "Split",
    "StatusError",
    "Summary",
    "SummaryRow",
    "TextPage",
    "TransportError",
    "UnsuitablePlace",
    "WaitStarted",
    "__version__",
]

# A name is imported when it is first used: pydantic and httpx take 200 ms, which a program that
# only prints its version does not need. Names that are not in this table are errors.
_HOMES = {
    "client": ("Client",),
    "aclient": ("AsyncClient",),
    "events": ("EventQuery",),
    "aevents": ("AsyncEventQuery",),
    "jobs": ("ExportJob",),
    "ajobs": ("AsyncExportJob",),
    "models": ("Event", "Summary", "SummaryRow"),
    "_base.clock": ("Clock",),
    "_base.dates": ("Period",),
    "_base.observer": (
        *("BytesReceived", "BytesWritten", "HoursVerified", "Observer", "PageDrift"),
        *("PageReceived", "PartialAnswer", "PullPlanned", "RequestDue", "RequestSent"),
        *("RetryPlanned", "WaitStarted"),
    ),
    "_call.config": ("OnLimit",),
    "_call.operations": ("GroupBy",),
    "_call.retry": ("RetryPolicy",),
    "_events.dedupe": ("SeenEvents",),
    "_events.drift": ("OnDrift",),
    "_events.page": ("Page", "TextPage"),
    "_events.plan": ("DateRange", "Plan", "Slice", "Split"),
    "_exports.status": ("ExportFile", "ExportOrder", "ExportPhase", "ExportStatus"),
    "_outputs.open": ("Format",),
    "_quota.window": ("QuotaState",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return __all__
