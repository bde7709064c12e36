"""Events by pages, the bulk export and each summary, recounted without the client, are the same.

Counts and money are compared to the last digit; rates, which derive from them, are not.
"""

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from adanalytics_client import Client, QuotaPolicy, Summary
from adanalytics_client._json.fields import ID_OF
from adanalytics_server.local import LocalServer, Sample

DAY = "2026-01-15"
# VAST event types and the summary's columns that count them.
COLUMN_OF_TYPE = {
    "ad_request": "requests",
    "impression": "impressions",
    "start": "starts",
    "first_quartile": "first_quartiles",
    "midpoint": "midpoints",
    "third_quartile": "third_quartiles",
    "complete": "completions",
    "click": "clicks",
    "skip": "skips",
    "error": "errors",
}
COLUMNS = (*COLUMN_OF_TYPE.values(), "revenue", "cost")
FIELD_OF_GROUP: dict[str, str] = dict([("day", "event_date"), *ID_OF.items()])
Totals = dict[Any, dict[str, Decimal]]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    sample = Sample(start=date(2026, 1, 15), days=1, events_per_day=2_000, seed=7)
    with (
        LocalServer(sample=sample) as server,
        Client(
            server.url, api_key=server.api_key, partner="acme", quota=QuotaPolicy(log="memory")
        ) as opened,
    ):
        yield opened


@pytest.fixture(scope="module")
def pages(client: Client, tmp_path_factory: pytest.TempPathFactory) -> list[Mapping[str, Any]]:
    path = tmp_path_factory.mktemp("pages") / "day.jsonl"
    client.events(DAY, per_page=70).write(path)
    return [json.loads(line) for line in path.read_text().splitlines()]


def recounted(events: Iterable[Mapping[str, Any]], group_by: str | None) -> Totals:
    """The sums over events that are not filtered, by group."""
    groups: Totals = defaultdict(lambda: dict.fromkeys(COLUMNS, Decimal(0)))
    for event in events:
        if event["is_filtered"] not in (True, "true"):
            key = event[FIELD_OF_GROUP[group_by]] if group_by else None
            group = groups[None if key in (None, "") else str(key)]
            group[COLUMN_OF_TYPE[event["event_type"]]] += 1
            group["revenue"] += Decimal(event["revenue"])
            group["cost"] += Decimal(event["cost"] or 0)
    return dict(groups)


def stated(summary: Summary, group_by: str | None) -> Totals:
    """The same numbers as the summary states them."""
    name = {None: None, "day": "date"}.get(group_by, f"{group_by}_id")
    keys = [row[name] if name else None for row in summary.rows]
    return {
        None if key is None else str(key): {column: Decimal(row[column]) for column in COLUMNS}
        for key, row in zip(keys, summary.rows, strict=True)
    }


def test_the_export_has_the_events_of_the_pages(
    client: Client, pages: list[Mapping[str, Any]], tmp_path: Path
) -> None:
    with client.export(DAY, to=tmp_path / "day.csv").open(newline="") as text:
        export = list(csv.DictReader(text))
    assert len(pages) == 2_000
    assert Counter(event["event_id"] for event in pages) == Counter(
        row["event_id"] for row in export
    )
    for group_by in (None, *FIELD_OF_GROUP):
        assert recounted(export, group_by) == recounted(pages, group_by)


@pytest.mark.parametrize("group_by", [None, *FIELD_OF_GROUP])
def test_each_summary_is_the_sum_of_the_events(
    client: Client, pages: list[Mapping[str, Any]], group_by: Any
) -> None:
    summary = client.summary(DAY, group_by=group_by)
    assert stated(summary, group_by) == recounted(pages, group_by)
    assert summary.totals is not None
    totals = {column: Decimal(summary.totals[column]) for column in COLUMNS}
    assert totals == recounted(pages, None)[None]
    assert any(event["is_filtered"] for event in pages)
