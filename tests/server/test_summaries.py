"""A summary is the arithmetic over the events of its range, to the last digit."""

from collections import defaultdict
from collections.abc import Callable
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_server.api.summaries import read_summary
from adanalytics_server.storage.chunks import split_pieces
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.dimensions import DIMENSIONS, GROUP_COLUMNS, Grouping
from adanalytics_server.storage.events import EVENT_TYPES, LogEvent, Record, decode_event
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.pages import read_page
from adanalytics_server.storage.schema import COUNTERS
from adanalytics_server.storage.store import PartnerStore

MakeRecord = Callable[..., Record]
START = 1_769_896_800_000
DAYS = DayRange(date(2026, 1, 31), date(2026, 2, 1))
MONEY = st.integers(-(10**13), 10**13)


def over_events(events: list[LogEvent]) -> dict[str, Any]:
    """Add up by the definition of each column, with Decimal and from the served events only."""
    counted = [event for event in events if not event.is_filtered]
    counts = {
        counter: sum(event.event_type == name for event in counted)
        for counter, name in zip(COUNTERS, EVENT_TYPES, strict=True)
    }
    revenue = sum((Decimal(event.revenue) for event in counted), Decimal())
    cost = sum((Decimal(event.cost) for event in counted if event.cost), Decimal())

    def divided(top: Decimal | int, bottom: Decimal | int) -> Decimal | None:
        with localcontext() as context:
            context.prec = 60
            if not bottom:
                return None
            exact = Decimal(top) / Decimal(bottom)
            return exact.quantize(Decimal("0.000001"), rounding=ROUND_HALF_EVEN)

    requests, shown = counts["requests"], counts["impressions"]
    return {
        **counts,
        "revenue": revenue,
        "cost": cost,
        "profit": revenue - cost,
        "fill_rate": divided(shown, requests),
        "ctr": divided(counts["clicks"], shown),
        "vcr": divided(counts["completions"], shown),
        "completion_rate_started": divided(counts["completions"], counts["starts"]),
        "error_rate": divided(counts["errors"], requests),
        "margin": divided(revenue - cost, revenue),
        "ecpm": divided(revenue * 1000, shown),
        "rpm": divided(revenue * 1000, requests),
        "cpm_cost": divided(cost * 1000, shown),
    }


def served(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as its JSON says it, with every number of it exact."""
    return {
        name: value if value is None or isinstance(value, int) else Decimal(str(value))
        for name, value in row.items()
        if name not in GROUP_COLUMNS
    }


def summary_of(store: PartnerStore, group_by: Grouping | None) -> dict[str, Any]:
    body = msgspec.json.encode(read_summary(store, DAYS, group_by=group_by, currency="USD"))
    decoded: dict[str, Any] = msgspec.json.Decoder(float_hook=Decimal).decode(body)
    return decoded


@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 4 * 3_600_000 - 1),
            st.sampled_from(EVENT_TYPES),
            st.sampled_from([None, 1, 2, -3]),
            MONEY,
            st.none() | MONEY,
            st.booleans(),
        ),
        max_size=25,
    )
)
def test_every_grouping_equals_the_arithmetic_over_events(
    make_record: MakeRecord, rows: list[tuple[int, str, int | None, int, int | None, bool]]
) -> None:
    records = sorted(
        make_record(
            START + offset,
            number,
            event_type=event_type,
            campaign_id=campaign,
            demand_tag_id=campaign,
            revenue=revenue,
            cost=cost,
            is_filtered=filtered,
        )
        for number, (offset, event_type, campaign, revenue, cost, filtered) in enumerate(rows)
    )
    with TemporaryDirectory() as folder:
        store = PartnerStore(Path(folder))
        ingest(store, records)
        page = read_page(store, DAYS, page=1, per_page=10_000)
        events = [decode_event(body) for body in split_pieces(page.pieces)]
        fields: list[tuple[Grouping, str]] = [("day", "event_date")]
        fields += [(dimension.name, dimension.id_field) for dimension in DIMENSIONS]
        for group_by, key in fields:
            summary = summary_of(store, group_by)
            assert served(summary["totals"]) == over_events(events)
            groups = defaultdict(list)
            for event in events:
                if not event.is_filtered:
                    groups[getattr(event, key)].append(event)
            name = "date" if group_by == "day" else f"{group_by}_id"
            assert [row[name] for row in summary["summary"]] == sorted(
                groups, key=lambda value: (value is None, value or 0)
            )
            for row in summary["summary"]:
                assert served(row) == over_events(groups[row[name]])
        store.close()


def test_without_grouping_there_is_one_row_the_total(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    ingest(store, [make_record(START, 1)])
    summary = summary_of(store, None)
    assert summary["summary"] == [summary["totals"]]
    assert (summary["group_by"], summary["timezone"]) == (None, "UTC")


def test_a_day_may_earn_more_than_64_bits_of_nanos(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    most = 10**18
    ingest(store, [make_record(START + n, n, revenue=most, cost=-most) for n in range(30)])
    ingest(store, [make_record(START + n, 100 + n, revenue=most, cost=1) for n in range(30)])
    totals = summary_of(store, "day")["totals"]
    assert totals["revenue"] == "60000000000.000000000"
    assert totals["cost"] == "-29999999999.999999970"


@pytest.mark.parametrize(("name", "expected"), [({(1, 7): "Spring"}, "Spring"), ({}, None)])
def test_a_campaign_has_the_name_that_was_loaded_or_none(
    store: PartnerStore,
    make_record: MakeRecord,
    name: dict[tuple[int, int], str],
    expected: str | None,
) -> None:
    ingest(store, [make_record(START, 1), make_record(START, 2, campaign_id=None)], names=name)
    rows = summary_of(store, "campaign")["summary"]
    assert [row["campaign_name"] for row in rows] == [expected, None]
