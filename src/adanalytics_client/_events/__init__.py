"""Pulls of events: plan the queries, fetch and compare their pages, yield the events.

Other folders and modules import only the names in `__all__`.
"""

from adanalytics_client._events.auto import MOST_FULL_PAGES, lay_out, requests_of
from adanalytics_client._events.counts import day_counts
from adanalytics_client._events.dedupe import SeenEvents
from adanalytics_client._events.drift import OnDrift
from adanalytics_client._events.fanout import ReadyPage
from adanalytics_client._events.page import Page, TextPage
from adanalytics_client._events.plan import LARGEST_PAGE, DateRange, Plan, Slice, Split, runs_of
from adanalytics_client._events.query import (
    EventRequest,
    PullRun,
    QueryBase,
    convert_events,
    each_row,
    plan_pull,
)
from adanalytics_client._events.typed import M

__all__ = [
    "LARGEST_PAGE",
    "MOST_FULL_PAGES",
    "DateRange",
    "EventRequest",
    "M",
    "OnDrift",
    "Page",
    "Plan",
    "PullRun",
    "QueryBase",
    "ReadyPage",
    "SeenEvents",
    "Slice",
    "Split",
    "TextPage",
    "convert_events",
    "day_counts",
    "each_row",
    "lay_out",
    "plan_pull",
    "requests_of",
    "runs_of",
]
