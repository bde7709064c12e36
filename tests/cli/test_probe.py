"""`adanalytics doctor --probe`: asked before, written whole or not at all, compared on demand."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.run import Run

from adanalytics_cli.output.probe_output import Fact, consequences, facts
from adanalytics_client import ServiceProfile
from adanalytics_client._shapes.service import (
    ColumnProfile,
    ExportProfile,
    HeaderProfile,
    PageProfile,
)
from adanalytics_server.local import LocalServer, Sample


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    """Few events: the server of the other tests has 4,000, and a probe reads those of a day."""
    with LocalServer(sample=Sample(days=2, events_per_day=200), rate_limit=0) as running:
        yield running


def test_nothing_is_sent_unasked(run: Run, service: LocalServer, tmp_path: Path) -> None:
    service.journal.clear()
    done = run("doctor", "--probe", "-o", str(tmp_path / "service.toml"))
    assert done.exit_code == 2
    assert "at most 12 GET requests" in done.stderr
    assert "--yes" in done.stderr
    assert list(service.journal.entries()) == []


@pytest.mark.parametrize(
    "option", ["--with-export", "--yes", "--against=x.toml", "--cassette=x.yaml", "-ox.toml"]
)
def test_the_other_options_need_a_probe(run: Run, service: LocalServer, option: str) -> None:
    assert run("doctor", option).exit_code == 2


def test_the_table_and_the_file(run: Run, service: LocalServer, tmp_path: Path) -> None:
    service.journal.clear()
    path = tmp_path / "service.toml"
    done = run("doctor", "--probe", "--with-export", "--yes", "-o", str(path))
    assert done.exit_code == 0
    gets = [entry for entry in service.journal.entries() if entry.method == "GET"]
    assert len([entry for entry in gets if "/ad-analytics/" in entry.path]) <= 12
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["seen", "events", "list", "data"]
    assert "published  events   page size           at most 10,000 per page" in lines
    assert "seen       export   same rows as pages  yes" in lines
    assert "seen       field    event_id            id as text, uuid" in lines
    assert lines[-1] == "The client needs no option for this service."
    assert f"-> {path}" in done.stderr
    profile = ServiceProfile.read(path)
    assert profile.rows_key == "data"
    assert [file.name for file in tmp_path.glob("*serv*")] == ["service.toml"]


@pytest.mark.parametrize(
    ("subject", "fact", "value"),
    [
        ("events", "total", "meta.n"),
        ("events", "parameter hour", "ignored"),
        ("events", "parameter page", "heeded"),
        ("events", "order", "none"),
        ("events", "empty hour", "404"),
        ("field", "click", "flag as 0 or 1, up to 1 character"),
        ("field", "hits", "integer, up to 1 character"),
        ("field", "ymdh", "text, up to 1 character; used as event_time"),
        ("export", "file", "link"),
        ("export", "columns", "id, os"),
        ("export", "same rows as pages", "no"),
        ("headers", "request id", "none"),
        ("headers", "limit", "none"),
    ],
)
def test_a_fact_that_was_seen(subject: str, fact: str, value: str) -> None:
    profile = ServiceProfile(
        time_field="ymdh",
        columns={
            "click": ColumnProfile("integer", "flag"),
            "hits": ColumnProfile("integer"),
            "ymdh": ColumnProfile("text"),
        },
        pages=PageProfile(
            "meta.n", order="", days="exclusive", heeds={"page": True, "hour": False}, empty="404"
        ),
        export=ExportProfile({"file": "link"}, columns=("id", "os"), same_rows=False),
        headers=HeaderProfile(),
    )
    assert Fact(subject, fact, value, "seen") in facts(profile)
    assert "The export has other rows than the pages: use --via pages." in consequences(profile)
    days = "A range of days is refused where days are missing: order exports instead."
    assert days in consequences(profile)


def test_what_was_not_seen_is_published_or_unknown() -> None:
    first, *_, request_id, limit = facts(ServiceProfile())
    assert first == Fact("events", "list", "data", "published")
    assert {request_id.source, limit.source} == {"unknown"}
    assumption = Fact("events", "empty hour", "an empty list", "assumed")
    assert assumption in facts(ServiceProfile(pages=PageProfile()))
    without = "No event was seen, so its fields stay unknown: probe a partner with data."
    assert without in consequences(ServiceProfile(pages=PageProfile()))


@pytest.mark.parametrize(
    ("names", "is_told"), [(("date", "hour"), True), (("eventDate", "eventHour"), False)]
)
def test_an_hour_without_a_time_can_be_mapped(names: tuple[str, str], is_told: bool) -> None:
    day, hour = names
    columns = {day: ColumnProfile("text", "date"), hour: ColumnProfile("integer")}
    texts = consequences(ServiceProfile(columns=columns))
    assert any("--map event_date=NAME --map event_hour=NAME" in text for text in texts) == is_told


def test_the_profile_of_a_login_uses_the_file(
    run: Run, service: LocalServer, tmp_path: Path
) -> None:
    folder = tmp_path / "config" / "adanalytics"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[profile.default]\npartner = 'acme'\n")
    done = run("doctor", "--probe", "--yes")
    assert done.exit_code == 0
    assert ServiceProfile.read(folder / "service.toml").rows_key == "data"
    config = tomllib.loads((folder / "config.toml").read_text())
    assert config["profile"]["default"] == {"partner": "acme", "service": "service.toml"}


def test_the_same_service_and_another(run: Run, service: LocalServer, tmp_path: Path) -> None:
    path = str(tmp_path / "service.toml")
    run("doctor", "--probe", "--yes", "-o", path)
    before = Path(path).read_bytes()
    same = run("doctor", "--probe", "--yes", "--against", path)
    assert (same.exit_code, same.stdout) == (0, "")
    sample = Sample(days=2, events_per_day=200)
    with LocalServer(sample=sample, dialect="hints,fields-camel") as other:
        env = {"ADANALYTICS_BASE_URL": other.url, "ADANALYTICS_API_KEY": other.api_key}
        words = ("doctor", "--probe", "--yes", "--against", path)
        done = run(*words, env=env)
        assert done.exit_code == 7
        assert "rows_key: 'data' before, 'events' now" in done.stdout.splitlines()
        told = json.loads(run(*words, "--json", env=env).stdout)
        assert {"path": "rows_key", "before": "data", "after": "events"} in told
    assert Path(path).read_bytes() == before


def test_a_folder_that_cannot_be_written_costs_no_request(
    run: Run, service: LocalServer, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    service.journal.clear()
    done = run("doctor", "--probe", "--yes", "-o", str(tmp_path / "file" / "service.toml"))
    assert done.exit_code == 1
    assert str(tmp_path / "file") in done.stderr
    assert list(service.journal.entries()) == []


def test_a_cassette_is_written_beside(run: Run, service: LocalServer, tmp_path: Path) -> None:
    path, cassette = str(tmp_path / "service.toml"), tmp_path / "probe.yaml"
    service.journal.clear()
    assert run("doctor", "--probe", "--yes", "-o", path, "--cassette", str(cassette)).exit_code == 0
    written = json.loads(cassette.read_text())["interactions"]
    assert len(written) == len(service.journal.entries()) > 10
    assert service.api_key not in cassette.read_text()


def test_a_quota_that_is_too_small_sends_nothing(run: Run, tmp_path: Path) -> None:
    with LocalServer(sample=Sample(days=1, events_per_day=200), rate_limit=0) as server:
        env = {
            "ADANALYTICS_BASE_URL": server.url,
            "ADANALYTICS_API_KEY": server.api_key,
            "ADANALYTICS_PARTNER": server.partner,
        }
        from adanalytics_client import Client

        with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
            for _ in range(990):
                client.connection.session.quota.take()
        path = tmp_path / "service.toml"
        done = run("doctor", "--probe", "--yes", "-o", str(path), env=env)
    assert done.exit_code == 5
    assert "needs at least 12 requests" in " ".join(done.stderr.split())
    assert not path.exists()


def test_a_probe_that_fails_half_way_leaves_no_file(
    run: Run, service: LocalServer, tmp_path: Path
) -> None:
    service.faults.add("reset on events")
    path = tmp_path / "service.toml"
    try:
        done = run("doctor", "--probe", "--yes", "-o", str(path))
    finally:
        service.faults.clear()
    assert done.exit_code == 6
    assert list(tmp_path.glob("*.toml*")) == []
