"""`adanalytics doctor`: each trouble is found, told with what to do, and shown without secrets."""

import json
import subprocess
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import Result
from tests.cli.run import Run

from adanalytics_server.local import LocalServer

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


def test_one_request_is_sent(run: Run, service: LocalServer) -> None:
    service.journal.clear()
    run("doctor")
    assert len(list(service.journal.entries())) == 1


@pytest.mark.parametrize(
    ("limit", "quota"), [("0", "ok requests are not counted"), ("500", "ok 499 requests left")]
)
def test_the_quota(run: Run, service: LocalServer, limit: str, quota: str) -> None:
    assert found(run("--rate-limit", limit, "doctor"))["quota"] == quota


def test_extras(run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_as_json(run: Run, service: LocalServer) -> None:
    done = run("doctor", "--json", env={"ADANALYTICS_API_KEY": "aak_wrong"})
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert (done.exit_code, checks["login"]["result"]) == (1, "fail")
    assert checks["service"] == {
        "result": "ok",
        "name": "service",
        "found": f"{service.url} answers",
        "remedy": "",
    }


def test_a_refused_key(run: Run, service: LocalServer) -> None:
    done = run("doctor", env={"ADANALYTICS_API_KEY": "aak_wrong"})
    assert done.exit_code == 1
    checks = found(done)
    assert checks["service"].startswith("ok ")
    assert checks["login"].startswith("fail The credential was refused")
    assert "aak_wrong" not in done.output


def test_a_wrong_partner_and_nobody_there(run: Run, service: LocalServer) -> None:
    checks = found(run("doctor", "--partner", "nobody"))
    assert checks["partner"] == "fail Not found (404). | Is 'nobody' the right partner?"
    wrong = found(run("doctor", "--base-url", service.url.replace("http:", "https:")))
    assert "http://" in wrong["service"].partition(" | ")[2]
    checks = found(run("doctor", "--base-url", "http://127.0.0.1:9"))
    assert checks["service"] == (
        "fail The client could not connect to 127.0.0.1:9: Connection refused."
        " | Check the address and the network, or try later."
    )


def test_nothing_set_up(run: Run) -> None:
    done = run("doctor")
    assert done.exit_code == 1
    assert "adanalytics login" in found(done)["settings"]


def test_settings_that_cannot_be_used(run: Run, tmp_path: Path) -> None:
    settings = tmp_path / "config" / "adanalytics"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text("[profile.default\n")
    assert found(run("doctor"))["settings"].endswith("| Correct the file.")


def test_a_stored_login_that_others_can_read(
    run: Run, service: LocalServer, tmp_path: Path
) -> None:
    logins = tmp_path / "state" / "adanalytics" / "logins.json"
    logins.parent.mkdir(parents=True)
    logins.write_text("{}")
    checks = found(run("doctor", env={"ADANALYTICS_API_KEY": ""}))
    assert checks["login"].endswith(f"| Run: chmod 600 {logins}")


def test_trouble_on_this_machine(
    run: Run, service: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
