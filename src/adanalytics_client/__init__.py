"""Typed access to the partner ad-analytics service, for threads and for asyncio.

Examples:
    >>> from adanalytics_client import Client
    >>> with Client("https://stats.example", api_key="...", partner="acme") as client:
    ...     for event in client.events("2026-01-15"):
    ...         print(event.event_type, event.revenue)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from ._base.dates import Period as Period
    from ._base.observer import Observer as Observer
    from ._call.requests import Response as Response
    from ._call.retry import RetryPolicy as RetryPolicy
    from ._events.dedupe import SeenEvents as SeenEvents
    from ._events.page import Page as Page
    from ._events.page import TextPage as TextPage
    from ._events.plan import Plan as Plan
    from ._exports.status import ExportFile as ExportFile
    from ._exports.status import ExportOrder as ExportOrder
    from ._exports.status import ExportPhase as ExportPhase
    from ._exports.status import ExportStatus as ExportStatus
    from ._quota.policy import QuotaPolicy as QuotaPolicy
    from ._quota.window import QuotaState as QuotaState
    from ._shapes.service import ServiceProfile as ServiceProfile
    from .aclient import AsyncClient as AsyncClient
    from .aevents import AsyncEventQuery as AsyncEventQuery
    from .ajobs import AsyncExportJob as AsyncExportJob
    from .client import Client as Client
    from .errors import *  # noqa: F403  # every error is public
    from .events import EventQuery as EventQuery
    from .jobs import ExportJob as ExportJob
    from .models import Event as Event
    from .models import Summary as Summary
    from .models import SummaryRow as SummaryRow


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
