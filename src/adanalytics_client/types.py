"""The types of arguments and attributes: aliases for annotations, and the parts of larger values.

Examples:
    >>> from adanalytics_client.types import Split
    >>> split: Split = "daily"
    >>> client.events("2026-01-15", split=split).plan.slices[0].hour
"""

from adanalytics_client._base.clock import Clock
from adanalytics_client._base.dates import Day
from adanalytics_client._base.formats import Format
from adanalytics_client._base.urls import Params
from adanalytics_client._events.check import Check
from adanalytics_client._events.page import EventId
from adanalytics_client._events.plan import Cut, DateRange, Slice, Split
from adanalytics_client._events.slice import OnDrift
from adanalytics_client._json.exact import Json
from adanalytics_client._json.fields import GroupBy
from adanalytics_client._outputs.frames import Amounts, Dtypes
from adanalytics_client._quota.policy import OnLimit, QuotaLog
from adanalytics_client._shapes.service import (
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
