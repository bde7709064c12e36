"""The types of arguments and attributes: aliases for annotations, and the parts of larger values.

Examples:
    >>> from adanalytics_client.types import Split
    >>> split: Split = "daily"
    >>> client.events("2026-01-15", split=split).plan.slices[0].hour
"""

from adanalytics_client._base.choices import Check, Split

from ._base.clock import Clock
from ._base.dates import Day
from ._base.formats import Format
from ._base.urls import Params
from ._events.page import EventId
from ._events.plan import Cut, DateRange, Slice
from ._events.slice import OnDrift
from ._json.exact import Json
from ._json.fields import GroupBy
from ._outputs.frames import Amounts, Dtypes
from ._quota.policy import OnLimit, QuotaLog
from ._shapes.service import (
    ColumnProfile,
    ExportProfile,
    HeaderProfile,
    PageProfile,
    SummaryProfile,
)

__all__ = [
    "Amounts",
    "Check",
    "Clock",
    "ColumnProfile",
    "Cut",
    "DateRange",
    "Day",
    "Dtypes",
    "EventId",
    "ExportProfile",
    "Format",
    "GroupBy",
    "HeaderProfile",
    "Json",
    "OnDrift",
    "OnLimit",
    "PageProfile",
    "Params",
    "QuotaLog",
    "Slice",
    "Split",
    "SummaryProfile",
]
