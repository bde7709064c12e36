"""What the caller knows about the service, as a value and as a file, and what it changes."""

import datetime as dt
import json
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner
from tests.client.bench import Bench
from tests.client.moved_clock import MovedClock
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.main import cli
from adanalytics_client import Client, ConfigurationError, ProtocolError, ServiceProfile
from adanalytics_client._profiles.settings_file import settings_file
from adanalytics_client._shapes.service import (
    ColumnProfile,
    ExportProfile,
    HeaderProfile,
    PageProfile,
    SummaryProfile,
)
from adanalytics_client.dataset import Dataset, DatasetError
from adanalytics_client.errors import NotFound
from adanalytics_server.local import LocalServer, Sample

FULL = ServiceProfile(
    rows_key="report.hits",
    zone="+05:30",
    fields={"revenue": 'the "rev"\x7f'},
    time_field="ymdh",
    pages=PageProfile(
        total="header X-Total-Count",
        first=0,
        most=1000,
        days="exclusive",
        heeds={"hour": True, "page": False},
        empty="200 []",
        past_end="404",
        order="",
        stable=True,
    ),
    summary=SummaryProfile("$", {"none": ("n",), "day": ("date", "n")}, {"n": "event_type"}),
    export=ExportProfile({"file": "data.url"}, {"completed": "DONE"}, "state", ("a", "b"), False),
    headers=HeaderProfile("x-request-id", ("ratelimit",)),
    columns={
        "ymdh": ColumnProfile("text", "time", "never", 100, "YYYY-MM-DD hh:mm:ss"),
        "ein Feld.mit=allem": ColumnProfile("mixed", nulls="some"),
        "": ColumnProfile("null", nulls="always"),
    },
    probe_date=dt.date(2026, 11, 26),
)


@pytest.mark.parametrize("profile", [ServiceProfile(), FULL], ids=["empty", "full"])
def test_a_file_holds_the_whole_profile(tmp_path: Path, profile: ServiceProfile) -> None:
    path = tmp_path / "service.toml"
    path.write_text(profile.to_toml(), encoding="utf-8")
    assert ServiceProfile.read(path) == profile


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version = 2", "version 2; this adanalytics knows version 1"),
        ('version = "1"', "version '1'"),
        ("rows_keys = 1", "unknown key 'rows_keys'"),
        ("[pages]\ntotals = 1", "unknown key 'pages.totals'"),
        ("[columns.a]\ntype = 'text'\nkind = 1", "unknown key 'columns.a.kind'"),
        ("[columns.a]\ntype = 'texts'", "'texts'"),
        ("[pages]\nfirst = 'a'", "$.pages.first"),
        ("pages = 1", "$.pages"),
        ("[pages]\nfirst = 7", "$.pages.first"),
        ("[pages.heeds]\nhours = true", "$.pages.heeds"),
        ("[export.names]\nurl = 'x'", "$.export.names"),
        ("[export.words]\ndone = 'x'", "$.export.words"),
        ("[summary.columns]\ncountry = ['x']", "$.summary.columns"),
        ("zone = 'Mars'", "zone"),
        ("= 1", "Cannot read"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "service.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        ServiceProfile.read(path)
    assert str(path) in caught.value.message
    assert words in caught.value.message
    assert caught.value.remedy not in caught.value.message


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--probe"):
        ServiceProfile.read(tmp_path / "none.toml")


KOLKATA = ZoneInfo("Asia/Kolkata")
DAY = "2026-01-15"
LOCAL = ServiceProfile(zone="Asia/Kolkata")


def in_utc(local: datetime) -> dict[str, Any]:
    """Fields of an event whose time, day and hour are in UTC."""
    utc = local.astimezone(UTC)
    stamp = f"{utc:%Y-%m-%dT%H:%M:%S.000Z}"
    return {"event_time": stamp, "event_date": f"{utc:%Y-%m-%d}", "event_hour": utc.hour}


def in_utc_without_zone(local: datetime) -> dict[str, Any]:
    return {"event_time": f"{local.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"}


def with_offset(local: datetime) -> dict[str, Any]:
    return {"event_time": local.isoformat()}


def in_local_time_without_zone(local: datetime) -> dict[str, Any]:
    return {"event_time": f"{local:%Y-%m-%dT%H:%M:%S}"}


WRITTEN: list[Callable[[datetime], dict[str, Any]]] = [
    in_utc,
    in_utc_without_zone,
    with_offset,
    in_local_time_without_zone,
]


@pytest.fixture(params=WRITTEN)
def local_service(request: pytest.FixtureRequest, stand_in: StandIn) -> StandIn:
    """A service with one event for each hour of a day in Kolkata."""
    begin = datetime(2026, 1, 15, tzinfo=KOLKATA)
    events = [
        {"event_id": f"e{hour}", "event_type": "click", "is_filtered": False, "revenue": "0"}
        | {"cost": "0"}
        | request.param(begin + timedelta(hours=hour, minutes=10))
        for hour in range(24)
    ]

    def script(asked: Asked) -> Say:
        query = asked.query
        if asked.path.endswith("/dates"):
            return Say({"dates": [DAY]})
        if asked.path.endswith("/summary"):
            totals = {"date": DAY, "clicks": 24, "revenue": "0", "cost": "0"}
            return Say({"data": [totals], "meta": {"total": 1}})
        if not query["start_date"] <= DAY <= query["end_date"]:
            return Say({"data": [], "meta": {"total": 0, "page": 1}})
        hours = [int(query["hour"])] if "hour" in query else range(24)
        rows = [events[hour] for hour in hours]
        page, size = int(query["page"]), int(query["per_page"])
        served = rows[(page - 1) * size : page * size]
        return Say({"data": served, "meta": {"total": len(rows), "page": page}})

    stand_in.script = script
    return stand_in


def test_the_hours_of_a_local_service_are_its_own(
    local_service: StandIn, open_variant: OpenVariant
) -> None:
    variant = open_variant(service=LOCAL)
    assert len(local_service.asked) == 0
    assert [row["event_id"] for row in variant.rows(DAY, hour=3)] == ["e3"]
    for split in ("hourly", "daily", "none"):
        assert len(variant.rows(DAY, split=split)) == 24


def test_another_zone_is_refused_and_the_error_says_how_to_name_it(bench: Bench) -> None:
    local = datetime(2026, 1, 15, 3, 10, tzinfo=KOLKATA)
    bench.says(Say({"data": [{"event_id": "e"} | in_utc(local)], "meta": {"total": 1}}))
    with pytest.raises(ProtocolError) as wrong:
        bench.open().rows(DAY, hour=3)
    assert "hold events of 2026-01-14: they belong to another request" in wrong.value.message
    assert "If the service's hours are not in UTC" in wrong.value.remedy
    assert "Client(service=ServiceProfile(zone='+05:30'))" in wrong.value.remedy
    assert len(bench.open(service=LOCAL).rows(DAY, hour=3)) == 1
    with pytest.raises(ProtocolError, match=r"hours are not in Asia/Kolkata"):
        bench.open(service=LOCAL).rows(DAY, hour=4)


def test_a_sync_puts_events_into_the_hours_of_the_service(
    local_service: StandIn, tmp_path: Path, clock: MovedClock
) -> None:
    with Client(
        local_service.url, api_key="k", partner="acme", service=LOCAL, clock=clock
    ) as client:
        dataset = Dataset(tmp_path / "events", format="jsonl")
        report = dataset.sync(client, via="pages")
        assert (report.events, report.left, report.failed) == (24, 0, [])
        assert dataset.verify(client).is_whole
        holdings = dataset.holdings()
        assert holdings is not None
        assert holdings.last_hour == datetime(2026, 1, 15, 23, tzinfo=KOLKATA)
    assert dataset.verify(None).is_whole
    for hour in range(24):
        file = tmp_path / f"events/data/date={DAY}/hour={hour:02}/part-0.jsonl"
        assert json.loads(file.read_text())["event_id"] == f"e{hour}"
    with (
        Client(local_service.url, api_key="k", partner="acme", clock=clock) as other,
        pytest.raises(DatasetError, match=r"a dataset of zone Asia/Kolkata, not UTC"),
    ):
        dataset.sync(other)


def test_hours_of_a_running_day_are_open_until_they_end_there(
    local_service: StandIn, tmp_path: Path
) -> None:
    noon = datetime(2026, 1, 15, 12, 30, tzinfo=KOLKATA).astimezone(UTC)
    with Client(local_service.url, api_key="k", partner="acme", service=LOCAL) as client:
        dataset = Dataset(tmp_path / "events", format="jsonl", clock=lambda: noon)
        dataset.sync(client, "today", via="pages")
        holdings = dataset.holdings()
    assert holdings is not None
    assert holdings.hours == {date(2026, 1, 15): 13}


def test_today_is_the_day_at_the_service(open_variant: OpenVariant, clock: MovedClock) -> None:
    clock.now = datetime(2026, 1, 15, 20, tzinfo=UTC).timestamp()
    variant = open_variant(service=LOCAL)
    assert variant.client.events("today").plan.start == date(2026, 1, 16)
    moment = datetime(2026, 1, 15, 20, tzinfo=UTC)
    assert variant.client.events("today").only_before(moment).plan.least_requests == 2


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        ("UTC", timedelta(0)),
        ("+05:30", timedelta(hours=5, minutes=30)),
        ("-08:00", timedelta(hours=-8)),
        ("Asia/Kolkata", timedelta(hours=5, minutes=30)),
    ],
)
def test_a_zone_is_a_name_or_an_offset(zone: str, offset: timedelta) -> None:
    profile = ServiceProfile(zone=zone)
    assert profile.now(0).utcoffset() == offset
    assert pickle.loads(pickle.dumps(profile)) == profile


@pytest.mark.parametrize(
    "zone",
    [
        "",
        "Nowhere",
        "../etc/passwd",
        "+5",
        "+24:00",
        "+05:60",
        "America",
        "a\0b",
        "\ud800",
        5,
        None,
    ],
)
def test_any_other_zone_is_refused(zone: Any) -> None:
    with pytest.raises(ConfigurationError, match="zone="):
        ServiceProfile(zone=zone)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ServiceProfile(rows_key=""), r"rows_key='' is not valid\. Name the list"),
        (lambda: ServiceProfile(rows_key=cast("Any", 5)), "rows_key is not a str but a int"),
        (
            lambda: Client("http://localhost", api_key="k", service=cast("Any", 5)),
            r"service=5 is not valid\. Pass a ServiceProfile",
        ),
        (
            lambda: Client("http://localhost", api_key="k", service="no such file"),
            r"Cannot read no such file: .*\. Write it with adanalytics doctor --probe",
        ),
        (
            lambda: ServiceProfile(fields={"evnt_time": "ymdh"}),
            r"fields: 'evnt_time' is not a documented field\. Did you mean 'event_time'\?",
        ),
        (
            lambda: ServiceProfile(fields={"eventTime": "ymdh"}),
            r"'eventTime' is not a documented field\. Did you mean 'event_time'\?",
        ),
        (
            lambda: ServiceProfile(fields={"zzz": "ymdh"}),
            r"'zzz' is not a documented field\. Choose from event_id, event_time, .*, requests",
        ),
        (
            lambda: ServiceProfile(fields={"revenue": "rev", "cost": "rev"}),
            r"fields: 'rev' is mapped to revenue and to cost\. Map it to one of them",
        ),
        (
            lambda: ServiceProfile(fields={"revenue": "rev"}, time_field="rev"),
            r"fields: 'rev' is mapped to event_time and to revenue\. Map it to one of them",
        ),
        (
            lambda: ServiceProfile(fields={"event_time": "time"}, time_field="ymdh"),
            r"time_field='ymdh' is not valid\. fields maps event_time to 'time': leave one out",
        ),
        (
            lambda: ServiceProfile(fields={"revenue": ""}),
            r"fields: the name for revenue is ''\. Pass the name that the service sends",
        ),
        (lambda: ServiceProfile(fields={"revenue": cast("Any", 5)}), "name for revenue is 5"),
        (lambda: ServiceProfile(fields=cast("Any", ["a"])), r"fields=\['a'\] is not valid"),
        (lambda: ServiceProfile(time_field=""), r"time_field='' is not valid\. Name the field"),
        (lambda: ServiceProfile(time_field=cast("Any", 5)), "time_field is not a str but a int"),
    ],
)
def test_a_wrong_profile_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make()


def test_the_fields_of_a_profile_are_its_own() -> None:
    fields = {"event_time": "ymdh", "revenue": "rev", "requests": "usable_requests"}
    profile = ServiceProfile(fields=fields, time_field="ymdh")
    assert pickle.loads(pickle.dumps(profile)) == profile
    assert hash(profile) == hash(ServiceProfile(fields=dict(fields), time_field="ymdh"))
    assert profile != ServiceProfile(fields={"event_time": "ymdh"}, time_field="ymdh")
    fields["revenue"] = "income"
    assert profile.fields["revenue"] == "rev"


def test_the_name_of_the_list_holds_for_events_and_summaries(bench: Bench) -> None:
    variant = bench.open(service=ServiceProfile(rows_key="hits"))
    bench.says(Say({"hits": [{"event_id": "e"}], "data": [{"event_id": "other"}], "total": 1}))
    assert [row["event_id"] for row in variant.rows(DAY, split="none")] == ["e"]
    bench.says(Say({"hits": [{"clicks": 1}]}))
    assert variant.call("summary", DAY).rows[0].clicks == 1
    bench.says(Say({"summary": [{"clicks": 2}]}))
    assert variant.call("summary", DAY).rows[0].clicks == 2
    bench.says(Say({"by_day": [{"clicks": 2}]}))
    with pytest.raises(ProtocolError, match=r"Client\(service=ServiceProfile\(rows_key='by_day'"):
        variant.call("summary", DAY)


PROFILE = """
[profile.default]
base_url = "{url}"
partner = "acme"
[profile.default.service]
rows_key = "hits"
zone = "+05:30"
"""


def _write_profile(text: str) -> None:
    file = settings_file(os.environ)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ADANALYTICS_API_KEY", "secret-key")


def _in_hour_3(rows_key: str, event: dict[str, Any]) -> Callable[[Asked], Say]:
    """Answer for a day with one event."""

    def script(asked: Asked) -> Say:
        rows = [event] if asked.query.get("hour", "3") == "3" else []
        return Say({rows_key: rows, "total": len(rows)})

    return script


def _run(*words: str) -> tuple[int, str, str]:
    noon = datetime(2026, 1, 20, 12, tzinfo=UTC)
    result = CliRunner().invoke(cli, words, obj=Invocation(clock=lambda: noon))
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.usefixtures("_own_settings")
def test_a_settings_file_has_the_profile_of_the_service(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.stored_login import store_login

    lines = 'partner = "acme"\n[profile.default.service]\nrows_key = "hits"\nzone = "+05:30"\n'
    lines += 'time_field = "t"\nfields = { revenue = "rev" }'
    store_login(stand_in.url, "secret-key", lines=lines)
    with Client.from_profile() as client:
        service = client.connection.session.config.service
    assert service == ServiceProfile("hits", "+05:30", {"revenue": "rev"}, "t")
    with Client.from_profile(service=LOCAL) as client:
        assert client.connection.session.config.service == LOCAL
    stand_in.script = _in_hour_3("hits", {"event_id": "e"})
    code, out, err = _run("events", DAY, "--hour", "3")
    assert (code, json.loads(out)) == (0, {"event_id": "e"}), err


@pytest.mark.usefixtures("_own_settings")
@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("rows = 'hits'", "[profile.default.service] in {file} has an unknown key 'rows'."),
        ("rows_key = 5", "[profile.default.service] in {file}: Expected `str | null`, got"),
        ("[profile.default.service.pages]\nfist = 1", "has an unknown key 'pages.fist'."),
        ("zone = 'Nowhere'", "[profile.default.service] in {file}: zone='Nowhere' is not valid."),
        ("fields = 'a'", "in {file}: Expected `object`, got `str` - at `$.fields`."),
        ("fields = { revenue = 5 }", "in {file}: Expected `str`, got `int` - at `$.fields["),
        ("fields = { revenu = 'r' }", "in {file}: fields: 'revenu' is not a documented field."),
        ("time_field = 5", "in {file}: Expected `str | null`, got `int` - at `$.time_field`."),
        ("token = 'abcdef'", "[profile.default.service] in {file} holds a secret (token)."),
    ],
)
def test_a_wrong_profile_in_the_file_is_named(lines: str, words: str) -> None:
    _write_profile(f"[profile.default.service]\n{lines}\n")
    code, _, err = _run("dates")
    assert code == 2
    assert words.format(file=settings_file(os.environ)) in " ".join(err.split())


@pytest.mark.usefixtures("_own_settings")
def test_a_profile_names_the_file_of_the_service(bench: Bench) -> None:
    from tests.stored_login import store_login

    probed = ServiceProfile("hits", "+05:30", {"event_time": "t"}, probe_date=date(2026, 11, 26))
    store_login(bench.url, "secret-key", lines='partner = "acme"\nservice = "kept/own.toml"\n')
    file = settings_file(os.environ).parent / "kept/own.toml"
    code, _, err = _run("events", DAY)
    assert (code, f"Cannot read {file}" in " ".join(err.split())) == (2, True), err
    file.parent.mkdir()
    file.write_text(probed.to_toml())
    with Client.from_profile() as client:
        assert client.connection.session.config.service == probed
    for path in (file, str(file)):
        variant = bench.open(service=path)
        assert variant.client.connection.session.config.service == probed
    bench.script = _in_hour_3("hits", {"event_id": "e", "t": "2026-01-15T03:10:00"})
    code, out, err = _run("events", DAY, "--hour", "3")
    assert (code, json.loads(out)["event_id"]) == (0, "e"), err
    # Options win, also over the other name of the time.
    bench.script = _in_hour_3("rows", {"event_id": "e", "at": "2026-01-15T03:10:00"})
    code, out, err = _run("events", DAY, "--hour", "3", "--rows-key", "rows", "--time-field", "at")
    assert (code, json.loads(out)["event_id"]) == (0, "e"), err
    before = settings_file(os.environ).read_text()
    to = ("--base-url", bench.url, "--partner", "acme", "--no-verify", "--store", "file")
    code, _, err = _run("login", *to, "--zone", "UTC")
    words = f"Profile default has the service in {file}, which login does not change."
    assert (code, words in " ".join(err.split())) == (2, True), err
    assert _run("login", *to)[0] == 0
    assert 'service = "kept/own.toml"' in settings_file(os.environ).read_text(), before


@pytest.mark.usefixtures("_own_settings")
@pytest.mark.parametrize("value", ["5", "['a']", "true"])
def test_a_service_is_a_table_or_a_file(value: str) -> None:
    _write_profile(f"[profile.default]\nservice = {value}\n")
    code, _, err = _run("dates")
    words = f"in {settings_file(os.environ)} is neither a table nor the path of a file."
    assert (code, words in " ".join(err.split())) == (2, True), err


@pytest.mark.usefixtures("_own_settings")
def test_the_command_line_names_the_list_and_the_zone(stand_in: StandIn) -> None:
    to = ("--base-url", stand_in.url, "--partner", "acme")
    stand_in.script = _in_hour_3("hits", {"event_id": "e"})
    code, _, err = _run("events", DAY, "--hour", "3", *to)
    assert code == 7
    assert "Name it: --rows-key hits." in " ".join(err.split())
    code, out, err = _run("events", DAY, "--hour", "3", *to, "--rows-key", "hits")
    assert (code, json.loads(out)) == (0, {"event_id": "e"}), err
    local = datetime(2026, 1, 15, 3, 10, tzinfo=KOLKATA)
    stand_in.script = _in_hour_3("data", {"event_id": "e"} | in_utc(local))
    code, _, err = _run("events", DAY, "--hour", "3", *to)
    assert code == 7
    assert "such as --zone +05:30." in " ".join(err.split())
    code, out, err = _run(*to, "--zone", "+05:30", "events", DAY, "--hour", "3")
    assert (code, json.loads(out)["event_id"]) == (0, "e"), err
    code, _, err = _run(*to, "dates", "--zone", "Nowhere")
    assert (code, "zone='Nowhere' is not valid." in err) == (2, True)


@pytest.mark.usefixtures("_own_settings")
def test_a_login_keeps_the_profile_of_the_service() -> None:
    to = ("--base-url", "http://127.0.0.1:1", "--partner", "acme")
    words = ("login", "--no-verify", "--store", "file", *to)
    assert _run(*words, "--rows-key", "hits", "--zone", "+05:30")[0] == 0
    with Client.from_profile() as client:
        assert client.connection.session.config.service == ServiceProfile("hits", "+05:30")
    assert _run(*words, "--zone", "UTC")[0] == 0
    with Client.from_profile() as client:
        assert client.connection.session.config.service == ServiceProfile("hits")
    mapped = ("--map", "revenue=rev", "--map", "event_time=ymdh", "--time-field", "ymdh")
    assert _run(*words, *mapped)[0] == 0
    fields = {"revenue": "rev", "event_time": "ymdh"}
    with Client.from_profile() as client:
        service = client.connection.session.config.service
    assert service == ServiceProfile("hits", fields=fields, time_field="ymdh")
    # An option changes the fields that it names.
    assert _run("--map", "revenue=income", *words, "--map", "cost=c=1")[0] == 0
    with Client.from_profile() as client:
        service = client.connection.session.config.service
    assert service.fields == fields | {"revenue": "income", "cost": "c=1"}


@pytest.mark.usefixtures("_own_settings")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--map", "revenue"), "'revenue' is not FIELD=NAME, such as revenue=rev."),
        (("--map", "revenu=rev"), "'revenu' is not a documented field. Did you mean 'revenue'?"),
        (("--map", "revenue="), "the name for revenue is ''."),
        (("--time-field", "a", "--map", "event_time=b"), "time_field='a' is not valid."),
    ],
)
def test_a_wrong_field_of_the_command_line_is_refused(words: tuple[str, ...], message: str) -> None:
    code, _, err = _run("dates", "--base-url", "http://127.0.0.1:1", "--partner", "p", *words)
    assert (code, message in " ".join(err.split())) == (2, True), err


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
def test_a_contradiction_is_named(pages: PageProfile, body: Any, words: str, bench: Bench) -> None:
    bench.says(Say(body))
    service = ServiceProfile("data", time_field="at", pages=pages, probe_date=PROBED)
    with pytest.raises(ProtocolError) as caught:
        bench.open(service=service).rows(DAY, hour=3)
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
def test_other_fields_are_no_change(body: Any, bench: Bench) -> None:
    bench.says(Say(body))
    service = ServiceProfile("data", time_field="at", pages=META, probe_date=PROBED)
    assert bench.open(service=service).rows(DAY, hour=3) == body["data"]


def test_an_error_of_the_service_is_no_change(bench: Bench) -> None:
    bench.says(Say({"error": "The database is down."}))
    with pytest.raises(ProtocolError, match=r"an error instead of records: The database is down"):
        bench.open(service=PUBLISHED).rows(DAY, hour=3)


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
def test_places_overrule_names(pages: PageProfile, beside: Any, bench: Bench) -> None:
    def script(asked: Asked) -> Say:
        number = int(asked.query["page"])
        size = {1: 10, 2: 5}.get(number, 0)
        rows = [{"event_id": f"{number}-{at}"} for at in range(size)]
        return Say({"rows": rows, **beside(number > 1)})

    bench.script = script
    service = ServiceProfile("rows", pages=pages)
    assert len(bench.open(service=service).rows(DAY, hour=3)) == 15


def test_a_summary_has_its_own_place(bench: Bench) -> None:
    service = replace(PUBLISHED, summary=SummaryProfile("report.rows"))
    variant = bench.open(service=service)
    bench.says(Say({"report": {"rows": [{"clicks": 1}]}, "data": [{"clicks": 2}]}))
    assert variant.call("summary", DAY).rows[0].clicks == 1
    bench.says(Say({"summary": [{"clicks": 2}]}))
    with pytest.raises(ProtocolError, match=r"changed since 2026-11-26: .*not at report\.rows"):
        variant.call("summary", DAY)
