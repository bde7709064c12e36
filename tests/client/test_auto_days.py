"""`split="auto"` and days that neither the summary nor `dates` knows: none of them is lost."""

from collections import Counter
from typing import Any

import pytest
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant

from adanalytics_client import InvalidRequest, QuotaPolicy

DAYS = [f"2026-01-{day}" for day in range(15, 20)]
LARGE = {"2026-01-15", "2026-01-17", "2026-01-19"}


def serve(stand_in: StandIn, between: int) -> None:
    """Large days, and so many filtered events on each day between them."""

    def events(query: dict[str, str]) -> list[dict[str, Any]]:
        hours = [int(query["hour"])] if "hour" in query else range(24)
        return [
            {"event_id": f"{day} {hour} {at}"}
            for day in DAYS
            if query["start_date"] <= day <= query["end_date"]
            for hour in hours
            for at in range(20 if day in LARGE else between if hour == 0 else 0)
        ]

    def script(asked: Asked) -> Say:
        if asked.path.endswith("dates"):
            return Say({"dates": sorted(LARGE)})
        if asked.path.endswith("summary"):
            return Say({"summary": [{"date": day, "impressions": 480} for day in sorted(LARGE)]})
        found, size = events(asked.query), int(asked.query["per_page"])
        end = int(asked.query["page"]) * size
        return Say({"events": found[end - size : end], "total": len(found)})

    stand_in.script = script


@pytest.mark.parametrize("between", [0, 1, 7, 30])
def test_days_that_a_total_counts_are_asked_for(
    open_variant: OpenVariant, stand_in: StandIn, between: int
) -> None:
    serve(stand_in, between)
    variant = open_variant(quota=QuotaPolicy(limit=None))
    rows = variant.rows(DAYS[0], DAYS[-1], split="auto", per_page=10)
    days = Counter(row["event_id"].split()[0] for row in rows)
    assert days == Counter({day: 480 if day in LARGE else between for day in DAYS})
    # Where the figures agree, days without data are not asked for.
    firsts = {each.query["start_date"] for each in stand_in.asked if "page" in each.query}
    assert firsts == ({*DAYS} if between else LARGE)


@pytest.mark.parametrize("hour", [None, 3])
def test_a_range_that_is_refused_for_its_length_is_pulled_by_days(
    open_variant: OpenVariant, stand_in: StandIn, hour: int | None
) -> None:
    serve(stand_in, 1)
    whole = stand_in.script

    def refuse(asked: Asked) -> Say:
        if asked.query.get("start_date") != asked.query.get("end_date"):
            return Say({"error": "too many days"}, status=400)
        return whole(asked)

    stand_in.script = refuse
    variant = open_variant(quota=QuotaPolicy(limit=None))
    rows = variant.rows(DAYS[0], DAYS[-1], split="auto", per_page=100, hour=hour)
    assert len(rows) == (len(LARGE) * 20 if hour else len(LARGE) * 480 + 2)
    stand_in.script = lambda _: Say({"error": "no such partner"}, status=400)
    stand_in.asked.clear()
    with pytest.raises(InvalidRequest):
        variant.rows(DAYS[0], split="auto")
    assert len(stand_in.asked) == 1


def test_the_only_page_of_a_service_without_totals_needs_no_summary(
    open_variant: OpenVariant, stand_in: StandIn
) -> None:
    def script(asked: Asked) -> Say:
        rows = [{"event_id": day} for day in DAYS]
        return Say(rows if asked.query["page"] == "1" else [])

    stand_in.script = script
    rows = open_variant().rows(DAYS[0], DAYS[-1], split="auto", check="none")
    assert [row["event_id"] for row in rows] == DAYS
    assert [asked.query["page"] for asked in stand_in.asked] == ["1", "2"]
