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
    from adanalytics_client._base.dates import Period as Period
    from adanalytics_client._base.observer import Observer as Observer
    from adanalytics_client._call.requests import Response as Response
    from adanalytics_client._call.retry import RetryPolicy as RetryPolicy
    from adanalytics_client._events.dedupe import SeenEvents as SeenEvents
    from adanalytics_client._events.page import Page as Page
    from adanalytics_client._events.page import TextPage as TextPage
    from adanalytics_client._events.plan import Plan as Plan
    from adanalytics_client._exports.status import ExportFile as ExportFile
    from adanalytics_client._exports.status import ExportOrder as ExportOrder
    from adanalytics_client._exports.status import ExportPhase as ExportPhase
    from adanalytics_client._exports.status import ExportStatus as ExportStatus
    from adanalytics_client._quota.policy import QuotaPolicy as QuotaPolicy
    from adanalytics_client._quota.window import QuotaState as QuotaState
    from adanalytics_client._shapes.service import ServiceProfile as ServiceProfile
    from adanalytics_client.aclient import AsyncClient as AsyncClient
    from adanalytics_client.aevents import AsyncEventQuery as AsyncEventQuery
    from adanalytics_client.ajobs import AsyncExportJob as AsyncExportJob
    from adanalytics_client.client import Client as Client
    from adanalytics_client.errors import *  # noqa: F403  # every error is public
    from adanalytics_client.events import EventQuery as EventQuery
    from adanalytics_client.jobs import ExportJob as ExportJob
    from adanalytics_client.models import Event as Event
    from adanalytics_client.models import Summary as Summary
    from adanalytics_client.models import SummaryRow as SummaryRow


# A name is imported when it is first used: pydantic and httpx take 200 ms, which a program that
# only prints its version does not need. Names that are not in this table are errors.
_HOMES = {
    "client": ("Client",),
    "aclient": ("AsyncClient",),
    "events": ("EventQuery",),
    "aevents": ("AsyncEventQuery",),
    "jobs": ("ExportJob",),
    "ajobs": ("AsyncExportJob",),
    "errors": (
        *("AdAnalyticsError", "AuthenticationError", "ChecksumMismatch", "ConfigurationError"),
        *("DownloadError", "ExportError", "ExportExpired", "ExportFailed", "ExportTimeout"),
        *("FieldProblem", "InvalidRequest", "NotFound", "PermissionDenied", "ProtocolError"),
        *("QuotaExceeded", "RateLimited", "Remedy", "RequestLimitReached", "RequestTimeout"),
        *("ServerError", "StatusError", "TransportError"),
    ),
    "models": ("Event", "Summary", "SummaryRow"),
    "_base.dates": ("Period",),
    "_base.observer": ("Observer",),
    "_shapes.service": ("ServiceProfile",),
    "_call.requests": ("Response",),
    "_call.retry": ("RetryPolicy",),
    "_events.dedupe": ("SeenEvents",),
    "_events.page": ("Page", "TextPage"),
    "_events.plan": ("Plan",),
    "_exports.status": ("ExportFile", "ExportOrder", "ExportPhase", "ExportStatus"),
    "_quota.policy": ("QuotaPolicy",),
    "_quota.window": ("QuotaState",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["__version__", *_HOME_OF]  # noqa: PLE0604  # all of them are strings


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
