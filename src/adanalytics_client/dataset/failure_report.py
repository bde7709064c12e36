"""What a run could not do, as a file beside the data that programs can read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from adanalytics_client.dataset.layout import REPORTS
from adanalytics_client.dataset.query import Query
from adanalytics_client.dataset.store import Store, as_failure


@dataclass(frozen=True, slots=True)
class BadQuery:
    """A query that could not be answered well, the kind of its error and what it says."""

    query: Query
    kind: str
    message: str


def write_report(store: Store, bad: Sequence[BadQuery], *, now: datetime, again: str) -> str:
    """Write the report of a run and give its name; `again` is the command that goes on."""
    name = f"{REPORTS}/{now:%Y%m%dT%H%M%SZ}.json"
    told = {
        "at": now.isoformat(),
        "bad": [
            {
                "query": str(each.query),
                "hours": [str(hour) for hour in each.query.wanted],
                "kind": each.kind,
                "message": each.message,
            }
            for each in bad
        ],
        "again": again,
    }
    with as_failure(store.place):
        store.write(name, json.dumps(told, indent=2).encode() + b"\n")
    return name
