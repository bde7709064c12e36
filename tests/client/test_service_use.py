"""What a client does by the profile of the service, and how it tells that the service changed."""

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant

from adanalytics_client import ConfigurationError, ProtocolError, ServiceProfile
from adanalytics_client._shapes.service import PageProfile, SummaryProfile
from adanalytics_client.errors import NotFound
from adanalytics_server.local import LocalServer, Sample

DAY = "2026-01-15"
PROBED = dt.date(2026, 11, 26)
EVENTS = 130
META = PageProfile(total="meta.total", page="meta.page", per_page="meta.per_page")
PUBLISHED = ServiceProfile("data", pages=META, probe_date=PROBED)
HINTS = PageProfile(
    total="pagination.total",
    page="pagination.page",
    per_page="pagination.per_page",
    pages="pagination.total_pages",
    more="pagination.has_more",
)
HEADERS = PageProfile(
    total="header X-Total-Count", page="header X-Page", pages="header X-Total-Pages"
)


def published(**pages: Any) -> ServiceProfile:
    return replace(PUBLISHED, pages=replace(META, **pages))


DIALECTS = {
    "reference": PUBLISHED,
    "hints": ServiceProfile("events", pages=HINTS, probe_date=PROBED),
    "meta-header": ServiceProfile("data", pages=HEADERS, probe_date=PROBED),
    "envelope-array,meta-header": ServiceProfile("$", pages=HEADERS, probe_date=PROBED),
    "envelope-array,meta-none": ServiceProfile("$", pages=PageProfile(), probe_date=PROBED),
    "envelope-nested": ServiceProfile(
        "data.events",
        pages=PageProfile(total="data.meta.total", page="data.meta.page"),
        probe_date=PROBED,
    ),
    "meta-next": ServiceProfile("data", pages=PageProfile(next="next_page"), probe_date=PROBED),
    "fields-camel": replace(PUBLISHED, time_field="eventTime"),
    "page-from-zero": published(first=0),
    "page-from-zero,meta-header": ServiceProfile(
        "data", pages=replace(HEADERS, first=0), probe_date=PROBED
    ),
    "page-from-zero,meta-none": ServiceProfile(
        "data", pages=PageProfile(first=0), probe_date=PROBED
    ),
    "hour-ignored": published(heeds={"hour": False}),
    "past-end-404,meta-none": ServiceProfile(
        "data", pages=PageProfile(past_end="404"), probe_date=PROBED
    ),
    "past-end-400": published(past_end="400"),
    "empty-404": published(empty="404"),
    "empty-204": published(empty="204"),
    "empty-null": published(empty="200 null"),
    "empty-object": published(empty="200 {}"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_row_arrives_once(dialect: str, open_variant: OpenVariant, tmp_path: Path) -> None:
    with LocalServer(sample=Sample(days=2, events_per_day=EVENTS), dialect=dialect) as server:
        variant = open_variant(server.url, api_key=server.api_key, service=DIALECTS[dialect])
        for split, check in (("none", "always"), ("hourly", "none"), ("auto", "always")):
            rows = variant.rows(DAY, "2026-01-16", split=split, per_page=65, check=check)
            assert len({json.dumps(row, default=str) for row in rows}) == len(rows)
            assert len(rows) == 2 * EVENTS
        query = variant.client.events(DAY, "2026-01-16", per_page=65)
        assert variant.on(query, "write", tmp_path / "events.jsonl") == 2 * EVENTS


def test_pages_are_no_larger_than_the_service_serves(open_variant: OpenVariant) -> None:
    with LocalServer(sample=Sample(events_per_day=2_600), dialect="per-page-capped") as server:
        variant = open_variant(server.url, api_key=server.api_key, service=published(most=1_000))
        assert variant.client.events(DAY).plan.per_page == 1_000
        assert variant.client.events(DAY, per_page=500).plan.per_page == 500
        pages = variant.pages(DAY, split="none")
        assert [len(page) for page in pages] == [1_000, 1_000, 600]


def test_an_ignored_hour_divides_nothing(open_variant: OpenVariant) -> None:
    with LocalServer(sample=Sample(events_per_day=2_000), dialect="hour-ignored") as server:
        variant = open_variant(
            server.url, api_key=server.api_key, service=published(heeds={"hour": False})
        )
        query = variant.client.events(DAY)
        assert (query.plan.split, query.plan.least_requests) == ("daily", 1)
        # With pages of 50, a day of 2,000 events would be divided by the hour.
        assert len(variant.rows(DAY, split="auto", per_page=50)) == 2_000
        with pytest.raises(ConfigurationError, match=r"hour=3 .*the service ignores the hour"):
            variant.client.events(DAY, hour=3)


def test_an_ignored_page_number_is_an_error_where_a_second_page_is_needed(
    open_variant: OpenVariant,
) -> None:
    profile = published(heeds={"page": False})
    with LocalServer(sample=Sample(events_per_day=EVENTS), dialect="page-ignored") as server:
        variant = open_variant(server.url, api_key=server.api_key, service=profile)
        assert len(variant.rows(DAY, split="none")) == EVENTS
        for split in ("none", "auto"):
            with pytest.raises(ProtocolError, match=r"has a further page, but the service ignores"):
                variant.rows(DAY, split=split, per_page=65)


def test_a_refusal_behind_a_full_page_is_the_end(open_variant: OpenVariant) -> None:
    with LocalServer(sample=Sample(events_per_day=EVENTS), dialect="past-end-400") as server:
        known = open_variant(server.url, api_key=server.api_key, service=published(past_end="400"))
        assert len(known.rows(DAY, split="none", per_page=65)) == EVENTS


def test_a_known_404_means_no_events_but_no_other_partner(open_variant: OpenVariant) -> None:
    with LocalServer(sample=Sample(events_per_day=EVENTS), dialect="empty-404") as server:
        variant = open_variant(server.url, api_key=server.api_key, service=published(empty="404"))
        assert variant.rows("2025-01-01", split="none") == []
        other = open_variant(
            server.url, api_key=server.api_key, partner="nobody", service=published(empty="404")
        )
        with pytest.raises(NotFound):
            other.rows("2025-01-01", split="none")
        with pytest.raises(NotFound):
            open_variant(server.url, api_key=server.api_key).rows("2025-01-01", split="none")


CHANGES = {
    "hints": "No list of objects is named 'data'",
    "envelope-array": "the list of rows is not at data",
    "meta-header": "meta.total is missing",
    "meta-object": "a page states has_more: ",
    "empty-null": "the response without events is 200 null, not 200 []",
    "envelope-nested": "No list of objects is named 'data'",
}


@pytest.mark.parametrize("dialect", CHANGES)
def test_a_changed_service_is_told(dialect: str, open_variant: OpenVariant) -> None:
    probed = published(empty="200 []")
    with LocalServer(sample=Sample(events_per_day=EVENTS), dialect=dialect) as server:
        for split in ("none", "auto"):
            variant = open_variant(server.url, api_key=server.api_key, service=probed)
            day = "2025-01-01" if dialect.startswith("empty") else DAY
            with pytest.raises(ProtocolError) as caught:
                variant.rows(day, split=split)
            assert f"The service changed since 2026-11-26: {CHANGES[dialect]}" in str(caught.value)
            assert "Probe it again: adanalytics doctor --probe." in str(caught.value)
            assert caught.value.request_id


@pytest.mark.parametrize("dialect", ["meta-header", "meta-object", "empty-null", "reference"])
def test_a_profile_without_a_probe_is_contradicted_by_nothing(
    dialect: str, open_variant: OpenVariant
) -> None:
    own = replace(PUBLISHED, probe_date=None)
    with LocalServer(sample=Sample(events_per_day=EVENTS), dialect=dialect) as server:
        variant = open_variant(server.url, api_key=server.api_key, service=own)
        assert len(variant.rows(DAY, split="none", per_page=65, check="always")) == EVENTS
        assert variant.rows("2025-01-01", split="none") == []


ROW = {"id": "a", "at": "2026-01-15T03:00:00Z"}


@pytest.mark.parametrize(
    ("pages", "body", "words"),
    [
        (META, {"data": [ROW], "meta": {"total": None, "page": 1}}, "meta.total is null, not a"),
        (META, {"data": [ROW], "meta": {"total": "many", "page": 1}}, "meta.total is a text"),
        (META, {"data": [ROW], "meta": {"total": 1}}, "meta.page is missing"),
        (PageProfile(), {"data": [ROW], "total": 1}, "a page states the total 1"),
        (META, {"data": [ROW], "meta": {"total": 1, "page": 1}, "next": "/2"}, "states next"),
        (META, {"data": [ROW], "meta": {"total": 1, "page": 1, "last": True}}, "last: true"),
        (META, {"data": [{"id": "a"}], "meta": {"total": 1, "page": 1}}, "no field at"),
        (META, {"rows": [ROW], "meta": {"total": 1, "page": 1}}, "Keys seen: rows, meta, meta."),
        (META, {"x": {"data": [ROW]}, "meta": {"total": 1, "page": 1}}, "is not at data"),
    ],
)
def test_a_contradiction_is_named(
    pages: PageProfile, body: Any, words: str, open_variant: OpenVariant, stand_in: StandIn
) -> None:
    stand_in.says(Say(body))
    service = ServiceProfile("data", time_field="at", pages=pages, probe_date=PROBED)
    with pytest.raises(ProtocolError) as caught:
        open_variant(service=service).rows(DAY, hour=3)
    assert caught.value.message.startswith("The service changed since 2026-11-26: ")
    assert words in caught.value.message


@pytest.mark.parametrize(
    "body",
    [
        {
            "data": [ROW | {"new": 1}],
            "meta": {"total": 1, "page": 1, "per_page": 9},
            "more_info": 1,
        },
        {"data": [ROW], "meta": {"total": "1", "page": 1}, "next": None},
        {"data": [], "meta": {}},
    ],
)
def test_other_fields_are_no_change(
    body: Any, open_variant: OpenVariant, stand_in: StandIn
) -> None:
    stand_in.says(Say(body))
    service = ServiceProfile("data", time_field="at", pages=META, probe_date=PROBED)
    assert open_variant(service=service).rows(DAY, hour=3) == body["data"]


def test_an_error_of_the_service_is_no_change(open_variant: OpenVariant, stand_in: StandIn) -> None:
    stand_in.says(Say({"error": "The database is down."}))
    with pytest.raises(ProtocolError, match=r"an error instead of records: The database is down"):
        open_variant(service=PUBLISHED).rows(DAY, hour=3)


@pytest.mark.parametrize(
    ("pages", "beside"),
    [
        (PageProfile(total="n.all"), lambda _: {"n": {"all": 15}, "total": 3}),
        (PageProfile(more="weiter"), lambda last: {"weiter": not last}),
        (PageProfile(more="n.last", pages="n.p"), lambda last: {"n": {"last": last, "p": 2}}),
        (PageProfile(next="n.folgende"), lambda last: {"n": {"folgende": None if last else "b"}}),
        # Nothing is there.
        (PageProfile(total="meta.all", more="m"), lambda _: {"meta": {"total": 15}}),
        # A sign of a further page counts at any place.
        (PageProfile(pages="n.p"), lambda last: {"n": {"p": 1}, "has_more": not last}),
    ],
)
def test_places_overrule_names(
    pages: PageProfile, beside: Any, open_variant: OpenVariant, stand_in: StandIn
) -> None:
    def script(asked: Asked) -> Say:
        number = int(asked.query["page"])
        size = {1: 10, 2: 5}.get(number, 0)
        rows = [{"event_id": f"{number}-{at}"} for at in range(size)]
        return Say({"rows": rows, **beside(number > 1)})

    stand_in.script = script
    service = ServiceProfile("rows", pages=pages)
    assert len(open_variant(service=service).rows(DAY, hour=3)) == 15


def test_a_summary_has_its_own_place(open_variant: OpenVariant, stand_in: StandIn) -> None:
    service = replace(PUBLISHED, summary=SummaryProfile("report.rows"))
    variant = open_variant(service=service)
    stand_in.says(Say({"report": {"rows": [{"clicks": 1}]}, "data": [{"clicks": 2}]}))
    assert variant.call("summary", DAY).rows[0].clicks == 1
    stand_in.says(Say({"summary": [{"clicks": 2}]}))
    with pytest.raises(ProtocolError, match=r"changed since 2026-11-26: .*not at report\.rows"):
        variant.call("summary", DAY)
