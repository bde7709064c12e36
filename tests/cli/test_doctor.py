"""`adanalytics doctor`: each trouble is told without secrets; `--probe` shows a service."""

import json
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import Result
from tests.cli.run import run

from adanalytics_cli.output.probe_output import Fact, consequences, facts
from adanalytics_client import ServiceProfile
from adanalytics_client._shapes.service import (
    ColumnProfile,
    ExportProfile,
    HeaderProfile,
    PageProfile,
)
from adanalytics_server.local import LocalServer, Sample

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def found(result: Result) -> dict[str, str]:
    """The result of each check by its name; what to do stands behind it, after a bar."""
    checks: dict[str, str] = {}
    name = ""
    for line in result.stdout.splitlines():
        if line.startswith(" "):
            checks[name] += f" | {line.strip()}"
        else:
            name = line[6:17].strip()
            checks[name] = f"{line[:5].strip()} {line[17:]}"
    return checks


def test_all_is_well(spawn: Callable[..., "subprocess.Popen[bytes]"], service: LocalServer) -> None:
    process = spawn("doctor")
    out, err = process.communicate(timeout=60)
    lines = out.decode().splitlines()
    assert (process.returncode, err) == (0, b"")
    # An extra that is not installed has a second line.
    assert {line.split()[0] for line in lines if not line.startswith(" ")} == {"ok"}
    assert "ok    login      accepted; acme has data on 2 days" in lines


def test_one_request_is_sent(service: LocalServer) -> None:
    service.journal.clear()
    run("doctor")
    assert len(list(service.journal.entries())) == 1


@pytest.mark.parametrize(
    ("limit", "quota"), [("0", "ok requests are not counted"), ("500", "ok 499 requests left")]
)
def test_the_quota(service: LocalServer, limit: str, quota: str) -> None:
    assert found(run("--rate-limit", limit, "doctor"))["quota"] == quota


def test_extras(service: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    import adanalytics_cli.commands.doctor as module

    known = set(tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]) - {"all"}
    monkeypatch.setattr(
        module,
        "distributions",
        lambda name: [] if name in {"duckdb", "obstore"} else metadata.distributions(name=name),
    )
    checks = json.loads(run("doctor", "--json").stdout)
    there, missing = (each for each in checks if each["name"] == "extras")
    named = [each["found"].partition(": ")[2].split(", ") for each in (there, missing)]
    assert {name for names in named for name in names} == known
    assert "excel" in named[0]
    assert set(named[1]) >= {"sql", "s3"}
    assert missing["remedy"].endswith(f"'adanalytics[{','.join(named[1])}]'")


def test_as_json(service: LocalServer) -> None:
    done = run("doctor", "--json", env={"ADANALYTICS_API_KEY": "aak_wrong"})
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert (done.exit_code, checks["login"]["result"]) == (1, "fail")
    assert checks["service"] == {
        "result": "ok",
        "name": "service",
        "found": f"{service.url} answers",
        "remedy": "",
    }


def test_a_refused_key(service: LocalServer) -> None:
    done = run("doctor", env={"ADANALYTICS_API_KEY": "aak_wrong"})
    assert done.exit_code == 1
    checks = found(done)
    assert checks["service"].startswith("ok ")
    assert checks["login"].startswith("fail The credential was refused")
    assert "aak_wrong" not in done.output


def test_a_wrong_partner_and_nobody_there(service: LocalServer) -> None:
    checks = found(run("doctor", "--partner", "nobody"))
    assert checks["partner"] == "fail Not found (404). | Is 'nobody' the right partner?"
    wrong = found(run("doctor", "--base-url", service.url.replace("http:", "https:")))
    assert "http://" in wrong["service"].partition(" | ")[2]
    checks = found(run("doctor", "--base-url", "http://127.0.0.1:9"))
    assert checks["service"] == (
        "fail The client could not connect to 127.0.0.1:9: Connection refused."
        " | Check the address and the network, or try later."
    )


def test_nothing_set_up() -> None:
    done = run("doctor")
    assert done.exit_code == 1
    assert "adanalytics login" in found(done)["settings"]


def test_settings_that_cannot_be_used(tmp_path: Path) -> None:
    settings = tmp_path / "config" / "adanalytics"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text("[profile.default\n")
    assert found(run("doctor"))["settings"].endswith("| Correct the file.")


def test_a_stored_login_that_others_can_read(service: LocalServer, tmp_path: Path) -> None:
    logins = tmp_path / "state" / "adanalytics" / "logins.json"
    logins.parent.mkdir(parents=True)
    logins.write_text("{}")
    checks = found(run("doctor", env={"ADANALYTICS_API_KEY": ""}))
    assert checks["login"].endswith(f"| Run: chmod 600 {logins}")


def test_trouble_on_this_machine(
    service: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state" / "adanalytics"
    state.mkdir(parents=True)
    (state / "quota").write_text("no folder")
    monkeypatch.setenv("https_proxy", "http://me:my-password@proxy.example:3128")
    done = run("doctor")
    checks = found(done)
    assert done.exit_code == 1
    assert "my-password" not in done.output
    assert checks["quota log"].endswith("Make the folder writable.")
    assert checks["proxies"].startswith("warn https_proxy=http://[hidden]@proxy.example:3128")


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    """Few events: the server of the other tests has 4,000, and a probe reads those of a day."""
    with LocalServer(sample=Sample(days=2, events_per_day=200), rate_limit=0) as running:
        yield running


def test_nothing_is_sent_unasked(service: LocalServer, tmp_path: Path) -> None:
    service.journal.clear()
    done = run("doctor", "--probe", "-o", str(tmp_path / "service.toml"))
    assert done.exit_code == 2
    assert "at most 12 GET requests" in done.stderr
    assert "--yes" in done.stderr
    assert list(service.journal.entries()) == []


@pytest.mark.parametrize(
    "option", ["--with-export", "--yes", "--against=x.toml", "--cassette=x.yaml", "-ox.toml"]
)
def test_the_other_options_need_a_probe(service: LocalServer, option: str) -> None:
    assert run("doctor", option).exit_code == 2


def test_the_table_and_the_file(service: LocalServer, tmp_path: Path) -> None:
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


def test_the_profile_of_a_login_uses_the_file(service: LocalServer, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "adanalytics"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[profile.default]\npartner = 'acme'\n")
    done = run("doctor", "--probe", "--yes")
    assert done.exit_code == 0
    assert ServiceProfile.read(folder / "service.toml").rows_key == "data"
    config = tomllib.loads((folder / "config.toml").read_text())
    assert config["profile"]["default"] == {"partner": "acme", "service": "service.toml"}


def test_the_same_service_and_another(service: LocalServer, tmp_path: Path) -> None:
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
    service: LocalServer, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    service.journal.clear()
    done = run("doctor", "--probe", "--yes", "-o", str(tmp_path / "file" / "service.toml"))
    assert done.exit_code == 1
    assert str(tmp_path / "file") in done.stderr
    assert list(service.journal.entries()) == []


def test_a_cassette_is_written_beside(service: LocalServer, tmp_path: Path) -> None:
    path, cassette = str(tmp_path / "service.toml"), tmp_path / "probe.yaml"
    service.journal.clear()
    assert run("doctor", "--probe", "--yes", "-o", path, "--cassette", str(cassette)).exit_code == 0
    written = json.loads(cassette.read_text())["interactions"]
    assert len(written) == len(service.journal.entries()) > 10
    assert service.api_key not in cassette.read_text()


def test_a_quota_that_is_too_small_sends_nothing(tmp_path: Path) -> None:
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


def test_a_probe_that_fails_half_way_leaves_no_file(service: LocalServer, tmp_path: Path) -> None:
    service.faults.add("reset on events")
    path = tmp_path / "service.toml"
    try:
        done = run("doctor", "--probe", "--yes", "-o", str(path))
    finally:
        service.faults.clear()
    assert done.exit_code == 6
    assert list(tmp_path.glob("*.toml*")) == []
