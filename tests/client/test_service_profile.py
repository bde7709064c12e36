"""What the caller knows about the service: the name of its list of rows, and its time zone."""

import json
import os
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner
from tests.client.moved_clock import MovedClock
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.main import cli
from adanalytics_client import Client, ConfigurationError, ProtocolError, ServiceProfile
from adanalytics_client._profiles.settings_file import settings_file
from adanalytics_client.dataset import Dataset, DatasetError

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


def test_another_zone_is_refused_and_the_error_says_how_to_name_it(
    stand_in: StandIn, open_variant: OpenVariant
) -> None:
    local = datetime(2026, 1, 15, 3, 10, tzinfo=KOLKATA)
    stand_in.says(Say({"data": [{"event_id": "e"} | in_utc(local)], "meta": {"total": 1}}))
    with pytest.raises(ProtocolError) as wrong:
        open_variant().rows(DAY, hour=3)
    assert "hold events of 2026-01-14: they belong to another request" in wrong.value.message
    assert "If the service's hours are not in UTC" in wrong.value.remedy
    assert "Client(service=ServiceProfile(zone='+05:30'))" in wrong.value.remedy
    assert len(open_variant(service=LOCAL).rows(DAY, hour=3)) == 1
    with pytest.raises(ProtocolError, match=r"hours are not in Asia/Kolkata"):
        open_variant(service=LOCAL).rows(DAY, hour=4)


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


def test_the_name_of_the_list_holds_for_events_and_summaries(
    stand_in: StandIn, open_variant: OpenVariant
) -> None:
    variant = open_variant(service=ServiceProfile(rows_key="hits"))
    stand_in.says(Say({"hits": [{"event_id": "e"}], "data": [{"event_id": "other"}], "total": 1}))
    assert [row["event_id"] for row in variant.rows(DAY, split="none")] == ["e"]
    stand_in.says(Say({"hits": [{"clicks": 1}]}))
    assert variant.call("summary", DAY).rows[0].clicks == 1
    stand_in.says(Say({"summary": [{"clicks": 2}]}))
    assert variant.call("summary", DAY).rows[0].clicks == 2
    stand_in.says(Say({"by_day": [{"clicks": 2}]}))
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
def test_a_profile_names_the_file_of_the_service(
    stand_in: StandIn, open_variant: OpenVariant
) -> None:
    from tests.stored_login import store_login

    probed = ServiceProfile("hits", "+05:30", {"event_time": "t"}, probe_date=date(2026, 11, 26))
    store_login(stand_in.url, "secret-key", lines='partner = "acme"\nservice = "kept/own.toml"\n')
    file = settings_file(os.environ).parent / "kept/own.toml"
    code, _, err = _run("events", DAY)
    assert (code, f"Cannot read {file}" in " ".join(err.split())) == (2, True), err
    file.parent.mkdir()
    file.write_text(probed.to_toml())
    with Client.from_profile() as client:
        assert client.connection.session.config.service == probed
    for path in (file, str(file)):
        variant = open_variant(service=path)
        assert variant.client.connection.session.config.service == probed
    stand_in.script = _in_hour_3("hits", {"event_id": "e", "t": "2026-01-15T03:10:00"})
    code, out, err = _run("events", DAY, "--hour", "3")
    assert (code, json.loads(out)["event_id"]) == (0, "e"), err
    # Options win, also over the other name of the time.
    stand_in.script = _in_hour_3("rows", {"event_id": "e", "at": "2026-01-15T03:10:00"})
    code, out, err = _run("events", DAY, "--hour", "3", "--rows-key", "rows", "--time-field", "at")
    assert (code, json.loads(out)["event_id"]) == (0, "e"), err
    before = settings_file(os.environ).read_text()
    to = ("--base-url", stand_in.url, "--partner", "acme", "--no-verify", "--store", "file")
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
