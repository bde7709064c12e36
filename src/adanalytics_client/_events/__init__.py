"""Pulls of events: plan the queries, fetch and compare their pages, yield the events.

Other folders and modules import only the names in `__all__`.
"""

from adanalytics_client._events.auto import MOST_FULL_PAGES, lay_out, requests_of
from adanalytics_client._events.counts import day_counts
from adanalytics_client._events.dedupe import SeenEvents
from adanalytics_client._events.drift import OnDrift
from adanalytics_client._events.fanout import Job, PageFanout, ReadyPage
from adanalytics_client._events.page import FetchedPage, Page, TextPage
from adanalytics_client._events.paging import Cursor, Signals
from adanalytics_client._events.plan import (
    LARGEST_PAGE,
    DateRange,
    Plan,
    Slice,
    Split,
    make_plan,
    runs_of,
)
from adanalytics_client._events.query import (
    EventRequest,
    PullRun,
    QueryBase,
    convert_events,
    each_row,
    plan_pull,
)
from adanalytics_client._events.resume import Position, position_of, token_of
from adanalytics_client._events.typed import M, Typed

__all__ = [
    "LARGEST_PAGE",
    "MOST_FULL_PAGES",
    "Cursor",
    "DateRange",
    "EventRequest",
    "FetchedPage",
    "Job",
    "M",
    "OnDrift",
    "Page",
    "PageFanout",
    "Plan",
    "Position",
    "PullRun",
    "QueryBase",
    "ReadyPage",
    "SeenEvents",
    "Signals",
    "Slice",
    "Split",
    "TextPage",
    "Typed",
    "convert_events",
    "day_counts",
    "each_row",
    "lay_out",
    "make_plan",
    "plan_pull",
    "position_of",
    "requests_of",
    "runs_of",
    "token_of",
]
