"""The probe: what it finds out about a service, and what it sends for that."""

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import vcr
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import API, ServiceOfRows
from tests.vocabularies import VOCABULARIES, Vocabulary, as_csv
from werkzeug import Request, Response

from adanalytics_client import AsyncClient, Client, ServiceProfile, errors
from adanalytics_client._probe.asker import MOST_GETS
from adanalytics_client._probe.cassette import ORIGIN, PARTNER, Cassette, recorded
from adanalytics_client._probe.probe import probe as probe_of
from adanalytics_client._shapes.drift import differences
from adanalytics_client._shapes.service import ColumnProfile
from adanalytics_server.local import LocalServer, Sample

SAMPLE = Sample(days=3, events_per_day=300)


def probe(dialect: str = "reference", *, inline: int = 50_000) -> tuple[ServiceProfile, list[str]]:
    """Probe the reference server; return the profile and the requests."""
    with (
        LocalServer(sample=SAMPLE, dialect=dialect, export_inline_max=inline) as server,
        Client(server.url, api_key=server.api_key, partner=server.partner) as client,
    ):
        profile = client.probe(with_export=True)
        sent = [f"{entry.method} {entry.path}" for entry in server.journal.entries()]
    return profile, sent


def value_at(profile: ServiceProfile, path: str) -> Any:
    value: Any = profile
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name)
    return value


CASES: dict[str, dict[str, object]] = {
    "reference": {
        "rows_key": "data",
        "pages.total": "meta.total",
        "pages.per_page": "meta.per_page",
        "pages.more": "",
        "pages.days": "inclusive",
        "pages.heeds": {"page": True, "per_page": True, "hour": True},
        "pages.empty": "200 []",
        "pages.past_end": "200 []",
        "pages.order": "event_time",
        "pages.stable": True,
        "summary.sums.requests": "event_type",
        "summary.sums.revenue": "revenue",
        "export.names.file": "download_url",
        "export.same_rows": True,
        "export.wait": "none",
        "headers.request_id": "x-request-id",
        "time_field": None,
        "zone": "UTC",
    },
    "hints": {"rows_key": "events", "pages.more": "pagination.has_more"},
    "envelope-array": {"rows_key": "$", "pages.total": "header x-total-count"},
    "envelope-nested": {"rows_key": "data.events", "pages.page": "data.meta.page"},
    "meta-next": {"pages.total": "", "pages.next": "next_page"},
    "meta-none": {"pages.total": "", "pages.past_end": "200 []"},
    "link-header": {"export.names.file": "header location"},
    "export-job": {"export.names.file": "url", "export.names.id": "job_id"},
    "rate-headers": {"headers.limit": ("ratelimit", "ratelimit-policy")},
    "fields-counters": {
        "pages.order": "ymdh",
        "columns.revenue.form": "10 digits",
        "columns.clicks.role": "flag",
        "columns.event_id": None,
    },
    "fields-ids": {"columns.id": ColumnProfile("integer", "id", "never", 100)},
    "amounts-number": {"columns.revenue.type": "number", "summary.sums.revenue": "revenue"},
    "times-epoch": {"columns.event_time.form": "epoch seconds.fff"},
    "times-offset": {"columns.event_time.form": "YYYY-MM-DDThh:mm:ss.fff+hh:mm", "zone": "UTC"},
    "served-at": {"pages.stable": False},
    "page-from-zero": {"pages.first": 0, "pages.heeds.page": True},
    "page-ignored": {"pages.heeds.page": False, "pages.past_end": None},
    "page-empty": {"pages.past_end": None},
    "hour-ignored": {"pages.heeds.hour": False},
    "end-date-ignored": {"pages.days": None},
    "end-date-exclusive": {"pages.days": "exclusive"},
    "total-high": {"pages.most": None, "summary.sums": {}},
    "empty-404": {"pages.empty": "404"},
    "empty-null": {"pages.empty": "200 null"},
    "empty-204": {"pages.empty": "204"},
    "past-end-400": {"pages.past_end": "400"},
    "says-success": {"pages.shortfall": "success: false"},
    "accepted": {"columns": {}, "rows_key": "data"},
}


@pytest.mark.parametrize("dialect", CASES)
def test_a_dialect_is_seen(dialect: str) -> None:
    profile, sent = probe(dialect)
    expected = CASES[dialect]
    assert {path: value_at(profile, path) for path in expected} == expected
    assert sum(line.startswith("GET") for line in sent if "bulk-export" not in line) <= (
        # The file itself is outside the Partner API.
        MOST_GETS + 1
    )
    assert sum(line.startswith("POST") for line in sent) <= 2


def test_an_export_in_the_background_is_waited_for() -> None:
    profile, _ = probe("status-done", inline=10)
    assert profile.export is not None
    assert profile.export.wait == "state"
    assert profile.export.words["completed"] == "done"
    assert {*profile.export.words.values()} <= {"queued", "running", "done"}
    assert profile.export.same_rows is True


def test_both_clients_see_the_same() -> None:
    async def ask(server: LocalServer) -> ServiceProfile:
        async with AsyncClient(
            server.url, api_key=server.api_key, partner=server.partner
        ) as client:
            return await client.probe()

    with LocalServer(sample=SAMPLE) as server:
        with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
            profile = client.probe()
        assert asyncio.run(ask(server)) == profile


def test_two_probes_of_a_service_differ_in_nothing() -> None:
    assert differences(probe("classic")[0], probe("classic", inline=10)[0]) == []


def test_a_change_is_a_difference() -> None:
    before, after = probe("hints")[0], probe("modern,fields-camel")[0]
    paths = {change.path: (change.before, change.after) for change in differences(before, after)}
    assert paths["rows_key"] == ("events", "data")
    assert paths["pages.more"] == ("pagination.has_more", "meta.has_more")
    assert paths["columns.event_time"] == ("there", "missing")
    assert paths["columns.eventTime"] == ("missing", "there")


@pytest.mark.parametrize("dialect", ["reference", "hints,fields-counters", "times-epoch,meta-next"])
def test_a_cassette_has_other_values_and_the_same_profile(dialect: str, tmp_path: Path) -> None:
    # Of some keys, by chance, other counters add up to a sum of the summary.
    cassette = Cassette(bytes(32))
    with (
        LocalServer(sample=SAMPLE, dialect=dialect) as server,
        Client(server.url, api_key=server.api_key, partner=server.partner) as client,
    ):
        connection = client.connection
        profile = connection.driver.run(recorded(probe_of(connection.session), cassette))
        params = {"start_date": "2026-01-15", "end_date": "2026-01-17", "per_page": "10000"}
        body = client.request("GET", f"{API}/events", params=params).data
        secrets = {server.api_key, server.url, server.partner}
    text = cassette.text()
    days = {"2026-01-15", "2026-01-16", "2026-01-17"}
    values = {value for value in values_of(body) if len(value) >= 6} - days
    assert len(values) > 300
    # The name of a column, such as `impressions`, holds that of a type of event.
    assert not secrets & {*re.split(r'[\s"\\,{}\[\]]+', text)}
    leaks = values & {*re.split(r'[\s"\\,{}\[\]]+', text)}
    leaks |= {value for value in values if re.search(r"\d", value) and value in text}
    # A replacement is random, so that of one time may be another time of its hour.
    assert len(leaks) <= 3
    path = tmp_path / "probe.yaml"
    path.write_text(text)
    with (
        vcr.use_cassette(str(path), record_mode="none"),
        Client(ORIGIN, api_key="k", partner=PARTNER) as client,
    ):
        replayed = client.probe()
    # Other times are in another order.
    assert {change.path for change in differences(profile, replayed)} <= {"pages.order"}
    assert replayed.columns == profile.columns


@pytest.fixture
def service(httpserver: HTTPServer) -> ServiceOfRows:
    service = ServiceOfRows(httpserver)
    service.counts = False
    return service


@pytest.mark.parametrize("name", VOCABULARIES)
def test_no_value_of_the_data_is_in_the_file(service: ServiceOfRows, name: str) -> None:
    vocabulary: Vocabulary = VOCABULARIES[name]
    service.rows = dict(vocabulary.rows)
    service.summary = {"2026-01-15": {"spend": str(vocabulary.sum)}}
    service.export = as_csv
    text = service.client().probe(with_export=True).to_toml()
    tried = 0
    for value in values_of([json.loads(row) for row in vocabulary.texts]):
        if len(value) >= 6:
            tried += 1
            assert value not in text
    assert tried > 50
    assert all(f"columns.{column}" in text for column in vocabulary.types)


def values_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {text for inner in value.values() for text in values_of(inner)}
    if isinstance(value, list):
        return {text for inner in value for text in values_of(inner)}
    return {str(value)}


@pytest.mark.parametrize("type_", ["impression", "Impression"])
def test_a_field_that_adds_up_to_the_summary_has_its_part(
    service: ServiceOfRows, type_: str
) -> None:
    vocabulary = VOCABULARIES["camelCase"]
    service.rows = {
        at: [text.replace("impression", type_) for text in texts]
        for at, texts in vocabulary.rows.items()
    }
    days = {day for day, _ in service.rows}
    service.summary = {
        day: {
            "revenue": str(sum_of(vocabulary, day)),
            "impressions": sum(len(service.rows[at]) for at in service.rows if at[0] == day),
        }
        for day in days
    }
    profile = service.client().probe()
    assert profile.fields == {"revenue": "grossRevenue"}
    assert profile.summary is not None
    assert profile.summary.sums == {"revenue": "grossRevenue", "impressions": "event_type"}


def sum_of(vocabulary: Vocabulary, day: str) -> Any:
    rows = {at: texts for at, texts in vocabulary.rows.items() if at[0] == day}
    return replace(vocabulary, rows=rows).sum


@pytest.mark.parametrize(("offset", "zone"), [(-5, "-05:00"), (5.5, "+05:30"), (0, "UTC")])
def test_the_zone_of_hours_explains_the_times(
    service: ServiceOfRows, offset: float, zone: str
) -> None:
    """A day of the service begins `offset` hours before that of UTC."""
    midnight = 1_768_435_200 - int(offset * 3600)
    service.rows = {
        ("2026-01-15", hour): [
            json.dumps({"at": midnight + hour * 3600 + minute * 60}) for minute in range(60)
        ]
        for hour in range(24)
    }
    profile = service.client().probe()
    assert (profile.zone, profile.time_field) == (zone, "at")


def test_a_large_day_is_never_pulled(httpserver: HTTPServer) -> None:
    def events(request: Request) -> Response:
        page, size = int(request.args["page"]), int(request.args["per_page"])
        sizes.append(size)
        rows = [{"id": f"{page}-{number}"} for number in range(size)]
        body = {"data": rows, "meta": {"total": 20_000_000, "page": page, "per_page": size}}
        return Response(json.dumps(body), content_type="application/json")

    sizes: list[int] = []
    httpserver.expect_request(f"{API}/dates").respond_with_json({"dates": ["2026-01-15"]})
    httpserver.expect_request(f"{API}/events").respond_with_handler(events)
    httpserver.expect_request(f"{API}/summary").respond_with_json({"error": "no"}, status=403)
    with Client(httpserver.url_for(""), api_key="k", partner="acme") as client:
        profile = client.probe()
    assert max(sizes) <= 50
    # What the summary would have said stays unknown, and the rest is known.
    assert profile.summary is None
    assert profile.pages is not None
    assert profile.pages.total == "meta.total"
    assert profile.pages.past_end == "200 rows"
    assert profile.pages.heeds["per_page"] is True
    assert profile.pages.stable is True


@pytest.mark.parametrize("first", [0, 1])
def test_the_first_page_of_a_large_day(httpserver: HTTPServer, first: int) -> None:
    def events(request: Request) -> Response:
        page, size = int(request.args["page"]), int(request.args["per_page"])
        begin = (max(page, first) - first) * size
        rows = [{"id": f"row-{number}"} for number in range(begin, begin + size)]
        body = {"data": rows, "meta": {"total": 20_000_000}}
        return Response(json.dumps(body), content_type="application/json")

    # Its only row is of no day.
    sums = {"data": [{"clicks": 20_000_000}]}
    httpserver.expect_request(f"{API}/summary").respond_with_json(sums)
    httpserver.expect_request(f"{API}/events").respond_with_handler(events)
    with Client(httpserver.url_for(""), api_key="k", partner="acme") as client:
        profile = client.probe()
    assert profile.pages is not None
    assert profile.pages.first == first
    assert profile.pages.heeds == {"page": True, "per_page": True}


@pytest.mark.parametrize(
    ("body", "status", "reason", "remedy"),
    [
        ({"hello": "world"}, 200, "No list of records was found. Keys seen: hello.", "Report it"),
        ({"error": "who are you?"}, 403, "who are you?", "partner"),
    ],
)
def test_a_service_that_answers_nothing_right_is_an_error(
    httpserver: HTTPServer, body: dict[str, Any], status: int, reason: str, remedy: str
) -> None:
    httpserver.expect_request(re.compile(".*")).respond_with_json(body, status=status)
    with (
        Client(httpserver.url_for(""), api_key="k", partner="acme") as client,
        pytest.raises(errors.ProtocolError, match="neither events nor summaries") as raised,
    ):
        client.probe()
    assert reason in raised.value.message
    assert remedy in raised.value.remedy


def test_a_refused_credential_ends_the_probe(httpserver: HTTPServer) -> None:
    httpserver.expect_request(re.compile(".*")).respond_with_json({"error": "no"}, status=401)
    with (
        Client(httpserver.url_for(""), api_key="k", partner="acme") as client,
        pytest.raises(errors.AuthenticationError),
    ):
        client.probe(with_export=True)
    assert len(httpserver.log) == 1


def test_a_refused_export_leaves_it_unknown(service: ServiceOfRows) -> None:
    service.rows = dict(VOCABULARIES["counters"].rows)
    profile = service.client().probe(with_export=True)
    assert profile.export is None
    assert profile.columns["revenue"].form == "10 digits"


def test_a_profile_of_before_does_not_hide_a_change(service: ServiceOfRows) -> None:
    service.rows = dict(VOCABULARIES["counters"].rows)
    first = service.client().probe()
    stale = replace(first, rows_key="elsewhere")
    with Client(service.url, api_key="k", partner="acme", service=stale) as client:
        assert client.probe() == first


def serve_rows(
    httpserver: HTTPServer,
    rows: list[dict[str, Any]],
    *,
    wrap: Any = lambda page, meta: {"data": page, "meta": meta},
    fail: dict[int, int] | None = None,
) -> Client:
    """Serve rows with an `hour` as those of 2026-01-15; `fail` has the status of the n-th look."""
    looks = 0

    def events(request: Request) -> Response:
        nonlocal looks
        looks += 1
        if looks in (fail or {}):
            return Response('{"error":"no"}', (fail or {})[looks], content_type="application/json")
        hour, page, size = (request.args.get(name) for name in ("hour", "page", "per_page"))
        chosen = [row for row in rows if hour in {None, str(row["hour"])}]
        chosen = chosen if request.args["start_date"] == "2026-01-15" else []
        meta = {"total": len(chosen), "page": int(page or 1), "per_page": int(size or 0)}
        begin = (meta["page"] - 1) * meta["per_page"]
        body = wrap(chosen[begin : begin + meta["per_page"]], meta)
        return Response(json.dumps(body), content_type="application/json")

    httpserver.expect_request(f"{API}/dates").respond_with_json({"dates": ["2026-01-15"]})
    httpserver.expect_request(f"{API}/summary").respond_with_json({"error": "no"}, status=403)
    httpserver.expect_request(f"{API}/events").respond_with_handler(events)
    return Client(httpserver.url_for(""), api_key="k", partner="acme")


def rows_at(offset: float, count: int) -> list[dict[str, Any]]:
    """Events of each hour of a day that begins `offset` hours before that of UTC."""
    midnight = 1_768_435_200 - int(offset * 3600)
    step = 86_400 // count
    return [
        {"key": f"row-{number:05}", "hour": number * step // 3600, "at": midnight + number * step}
        for number in range(count)
    ]


@pytest.mark.parametrize("look", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("status", [403, 500])
def test_a_refused_look_is_no_fact(httpserver: HTTPServer, look: int, status: int) -> None:
    with serve_rows(httpserver, rows_at(0, 240)) as client:
        profile = client.probe()
        httpserver.clear()
        again = serve_rows(httpserver, rows_at(0, 240), fail={look: status}).probe()
    assert profile.pages is not None
    assert differences(profile, again) == []
    assert "500" not in again.to_toml()
    assert "403" not in again.to_toml()


@pytest.mark.parametrize(("count", "zone"), [(6, None), (24, None), (2_880, "+05:30")])
def test_a_zone_is_seen_only_where_no_other_fits(
    httpserver: HTTPServer, count: int, zone: str | None
) -> None:
    with serve_rows(httpserver, rows_at(5.5, count)) as client:
        profile = client.probe()
    assert profile.pages is not None
    assert profile.pages.zone in {zone, "+05:30"}
    assert profile.zone == (profile.pages.zone or "UTC")


WRAPS: dict[str, Any] = {
    "meta.total": lambda page, meta: {"timing": {"total": 12}, "data": page, "meta": meta},
    "data.hits.total": lambda page, meta: {
        "_shards": {"total": 5, "successful": 5},
        "data": {"hits": {"list": page, "total": {"value": meta["total"], "relation": "eq"}}},
    },
    "data.ads.page_info.total_count": lambda page, meta: {
        "data": {"ads": {"nodes": page, "page_info": {"total_count": meta["total"]}}}
    },
}


@pytest.mark.parametrize("place", WRAPS)
def test_the_total_is_that_of_the_events(httpserver: HTTPServer, place: str) -> None:
    with serve_rows(httpserver, rows_at(0, 240), wrap=WRAPS[place]) as client:
        profile = client.probe()
    assert profile.pages is not None
    assert profile.pages.total == place
    with Client(client.base_url, api_key="k", partner="acme", service=profile) as client:
        assert client.events("2026-01-15", split="none").to_arrow().num_rows == 240


def test_words_around_the_rows_are_in_no_file(httpserver: HTTPServer) -> None:
    secrets = ["AcmeCorporation", "Nikesportswear", "TOPSECRETSIG99", "zz-partner"]

    def wrap(page: Any, meta: dict[str, int]) -> dict[str, Any]:
        link = f"http://h.example/api/partners/{secrets[3]}/x?sig={secrets[2]}"
        around = {"account": secrets[0], "warning": secrets[1], "error": f"row of {secrets[1]}"}
        return {**around, "data": page, "meta": meta, "links": {"next": link}}

    cassette = Cassette()
    with serve_rows(httpserver, rows_at(0, 240), wrap=wrap) as client:
        connection = client.connection
        profile = connection.driver.run(recorded(probe_of(connection.session), cassette))
    for text in (profile.to_toml(), cassette.text()):
        assert not [secret for secret in [*secrets, httpserver.host, "acme"] if secret in text]
