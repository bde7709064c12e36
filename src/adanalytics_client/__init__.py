"""Typed access to the partner ad-analytics service, for threads and for asyncio.

Example:
    >>> from adanalytics_client import Client
    >>> with Client("https://stats.example", api_key="...", partner="acme") as client:
    ...     for event in client.events("2026-01-15"):
    ...         print(event.event_type, event.revenue)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from adanalytics_client._version import __version__

if TYPE_CHECKING:
    from adanalytics_client._effects import Clock
    from adanalytics_client._export import ExportFile, ExportPhase, ExportStatus
    from adanalytics_client._export_order import ExportOrder
    from adanalytics_client._hooks import (
        BytesReceived,
        Observer,
        PageDrift,
        PageReceived,
        PartialAnswer,
        RequestDue,
        RequestSent,
        RetryPlanned,
        WaitStarted,
    )
    from adanalytics_client._page import Page, TextPage
    from adanalytics_client._plan import Plan
    from adanalytics_client._quota import QuotaState
    from adanalytics_client._retry import RetryPolicy
    from adanalytics_client._seen import SeenEvents
    from adanalytics_client._slices import Slice, Stretch
    from adanalytics_client.aclient import AsyncClient
    from adanalytics_client.aevents import AsyncEventQuery
    from adanalytics_client.ajobs import AsyncExportJob
    from adanalytics_client.client import Client
    from adanalytics_client.errors import (
        AdAnalyticsError,
        AuthenticationError,
        ChecksumMismatch,
        ConfigurationError,
        DownloadError,
        ExportError,
        ExportExpired,
        ExportFailed,
        ExportTimeout,
        InvalidRequest,
        NotFound,
        PermissionDenied,
        ProtocolError,
        QuotaExceeded,
        RateLimited,
        RequestTimeout,
        ServerError,
        StatusError,
        TransportError,
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
    "ChecksumMismatch",
    "Client",
    "Clock",
    "ConfigurationError",
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
    "InvalidRequest",
    "NotFound",
    "Observer",
    "Page",
    "PageDrift",
    "PageReceived",
    "PartialAnswer",
    "PermissionDenied",
    "Plan",
    "ProtocolError",
    "QuotaExceeded",
    "QuotaState",
    "RateLimited",
    "RequestDue",
    "RequestSent",
    "RequestTimeout",
    "RetryPlanned",
    "RetryPolicy",
    "SeenEvents",
    "ServerError",
    "Slice",
    "StatusError",
    "Stretch",
    "Summary",
    "SummaryRow",
    "TextPage",
    "TransportError",
    "WaitStarted",
    "__version__",
]

# pydantic and httpx cost some 200 ms; a command line that only prints its version needs neither.
_HOMES = {
    "Client": "client",
    "AsyncClient": "aclient",
    "EventQuery": "events",
    "AsyncEventQuery": "aevents",
    "ExportJob": "jobs",
    "AsyncExportJob": "ajobs",
    "ExportFile": "_export",
    "ExportOrder": "_export_order",
    "ExportPhase": "_export",
    "ExportStatus": "_export",
    "Event": "models",
    "Summary": "models",
    "SummaryRow": "models",
    "Clock": "_effects",
    "Page": "_page",
    "TextPage": "_page",
    "Plan": "_plan",
    "Slice": "_slices",
    "Stretch": "_slices",
    "QuotaState": "_quota",
    "RetryPolicy": "_retry",
    "SeenEvents": "_seen",
    "BytesReceived": "_hooks",
    "Observer": "_hooks",
    "PageDrift": "_hooks",
    "PageReceived": "_hooks",
    "PartialAnswer": "_hooks",
    "RequestDue": "_hooks",
    "RequestSent": "_hooks",
    "RetryPlanned": "_hooks",
    "WaitStarted": "_hooks",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_HOMES.get(name, 'errors')}")
    return getattr(module, name)
