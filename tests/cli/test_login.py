"""Sign in, look at it, sign out: what is stored where, who may read it, and for which address."""

import json
import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import keyring
import pytest
from click.testing import Result
from keyring.backend import KeyringBackend
from pytest_httpserver import HTTPServer
from tests.cli.run import Run, run

from adanalytics_cli.commands import login as login_command
from adanalytics_client._profiles import keyring_access
from adanalytics_server.local import LocalServer


@pytest.fixture
def place(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """The server's address and partner, and Not signed in; faults go at the end."""
    monkeypatch.setenv("ADANALYTICS_BASE_URL", server.url)
    monkeypatch.setenv("ADANALYTICS_PARTNER", server.partner)
    yield server
    server.faults.clear()


@pytest.fixture
def logins(tmp_path: Path) -> Path:
    return tmp_path / "state" / "adanalytics" / "logins.json"


@pytest.fixture
def sign_in(place: LocalServer) -> Run:
    """Sign in with the e-mail and the right password; more words may follow."""

    def start(*words: str) -> Result:
        asked = ["login", "--email", place.email, "--password-stdin", *words]
        return run(*asked, stdin=f"{place.password}\n")

    return start


def test_a_key_is_kept_for_the_commands_that_follow(
    place: LocalServer, logins: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = run("-v", "login", "--api-key-stdin", stdin=f"{place.api_key}\n")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert place.api_key not in done.stderr
    assert stat.S_IMODE(logins.stat().st_mode) == 0o600
    assert stat.S_IMODE(logins.parent.stat().st_mode) == 0o700

    monkeypatch.delenv("ADANALYTICS_BASE_URL")
    monkeypatch.delenv("ADANALYTICS_PARTNER")
    assert run("dates", "-f", "csv").stdout == "date\n2026-01-15\n2026-01-16\n"
    profile = (tmp_path / "config" / "adanalytics" / "config.toml").read_text()
    assert profile == f'[profile.default]\nbase_url = "{place.url}"\npartner = "acme"\n'


def test_of_a_password_only_the_token_is_kept(
    sign_in: Run, place: LocalServer, logins: Path, tmp_path: Path
) -> None:
    assert sign_in().exit_code == 0
    kept = json.loads(logins.read_text())["logins"]["default"]
    assert (kept["kind"], kept["email"], kept["base_url"]) == ("token", place.email, place.url)
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or place.password.encode() not in file.read_bytes()
    place.journal.clear()
    assert run("dates").exit_code == 0
    assert [each.path.rpartition("/")[2] for each in place.journal.entries()] == ["dates"]


@pytest.mark.parametrize("words", [["--api-key-stdin"], ["--email", "a@b.c", "--password-stdin"]])
def test_nothing_is_kept_of_what_is_refused(
    place: LocalServer, logins: Path, words: list[str], tmp_path: Path
) -> None:
    done = run("login", *words, stdin="wrong\n")
    assert done.exit_code == 4
    assert done.stderr.splitlines()[1] == "Nothing was stored. Run the command again."
    assert not logins.exists()
    assert not (tmp_path / "config").exists()


def test_no_verify_sends_nothing_for_a_key(place: LocalServer, logins: Path) -> None:
    place.journal.clear()
    assert run("login", "--no-verify", "--api-key-stdin", stdin="anything\n").exit_code == 0
    assert list(place.journal.entries()) == []
    assert logins.exists()


def test_a_list_of_dates_in_another_form_need_not_be_tried(
    httpserver: HTTPServer, logins: Path
) -> None:
    httpserver.expect_request(re.compile("/.*")).respond_with_json({"data": ["2026-01-15"]})
    words = ["login", "--api-key-stdin", "--base-url", httpserver.url_for("/"), "--partner", "acme"]
    failed = run(*words, stdin="key\n")
    assert (failed.exit_code, logins.exists()) == (7, False)
    assert "login --no-verify" in failed.stderr
    assert run(*words, "--no-verify", stdin="key\n").exit_code == 0
    assert logins.exists()


def test_a_stored_login_goes_to_no_other_address(sign_in: Run, place: LocalServer) -> None:
    sign_in()
    place.journal.clear()
    # The same server under another name is another address.
    other = run("dates", "--base-url", place.url.replace("127.0.0.1", "localhost"))
    assert other.exit_code == 4
    assert f"The stored login is for {place.url}" in other.stderr
    assert list(place.journal.entries()) == []
    assert run("dates", "--base-url", f"{place.url}/").exit_code == 0
    somebody = run("dates", env={"ADANALYTICS_EMAIL": "bo@example.org"})
    assert somebody.exit_code == 4


def test_the_environment_wins_over_what_is_stored(sign_in: Run, place: LocalServer) -> None:
    sign_in()
    shown = run("status", env={"ADANALYTICS_API_KEY": place.api_key}).stdout
    assert "signed in as  an API key  (ADANALYTICS_API_KEY)\nuntil         no end  (" in shown


def test_a_token_that_ends_in_the_middle(sign_in: Run, place: LocalServer, tmp_path: Path) -> None:
    sign_in("--profile", "my work")
    place.faults.add("401 on events after 3")
    target = tmp_path / "day.jsonl"
    done = run(
        "--profile", "my work", "events", "2026-01-15", "--split", "hourly", "-o", str(target)
    )
    assert done.exit_code == 4
    assert done.stderr.splitlines()[1] == "Sign in again: adanalytics login --profile 'my work'"
    assert not target.exists()


def test_with_the_password_at_hand_one_more_login_goes_on(place: LocalServer) -> None:
    place.faults.add("401 on events after 3 once")
    place.journal.clear()
    account = {"ADANALYTICS_EMAIL": place.email, "ADANALYTICS_PASSWORD": place.password}
    done = run("events", "2026-01-15", "--split", "hourly", env=account)
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 2_000
    paths = [each.path.rpartition("/")[2] for each in place.journal.entries()]
    assert paths.count("login") == 2


def test_status(sign_in: Run, place: LocalServer, logins: Path) -> None:
    sign_in("--profile", "night")
    shown = run("status", "--profile", "night")
    assert shown.exit_code == 0
    rows = {line[:14].rstrip(): line[14:] for line in shown.stdout.splitlines()}
    until = rows.pop("until")
    assert rows == {
        "profile": "night  (--profile)",
        "base url": f"{place.url}  (ADANALYTICS_BASE_URL)",
        "partner": "acme  (ADANALYTICS_PARTNER)",
        "signed in as": f"{place.email}  ({logins})",
        "quota left": "1,000 requests  (counted on this machine)",
    }
    assert until.endswith(" UTC")


def test_status_as_json(sign_in: Run, place: LocalServer, logins: Path) -> None:
    sign_in()
    shown = json.loads(run("status", "--json").stdout)
    until = datetime.fromisoformat(shown["credential"].pop("until"))
    assert timedelta(days=6) < until - datetime.now(UTC) <= timedelta(days=7)
    assert shown == {
        "profile": {"value": "default", "source": "by default"},
        "base_url": {"value": place.url, "source": "ADANALYTICS_BASE_URL"},
        "partner": {"value": "acme", "source": "ADANALYTICS_PARTNER"},
        "profiles": ["default"],
        "credential": {"kind": "token", "email": place.email, "source": str(logins)},
        "quota": {"remaining": 1_000, "resumes_at": None},
        "dataset": None,
    }


@pytest.mark.parametrize("words", [["status"], ["status", "--json"]])
@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("http://ada:hunter2@stats.example", "http://[hidden]@stats.example"),
        ("https://stats.example/v1?token=hunter2", "https://stats.example/v1?***"),
        ("https://stats.example/?hunter2", "https://stats.example/?***"),
        ("https://stats.example/#token=hunter2", "https://stats.example/#***"),
    ],
)
def test_status_shows_no_secret_of_an_address(
    monkeypatch: pytest.MonkeyPatch, words: list[str], address: str, text: str
) -> None:
    monkeypatch.setenv("ADANALYTICS_BASE_URL", address)
    monkeypatch.setenv("ADANALYTICS_PARTNER", "acme")
    monkeypatch.setenv("ADANALYTICS_API_KEY", "aak_1234")
    shown = run(*words)
    assert text in shown.stdout
    assert "hunter2" not in shown.output


def test_status_as_json_without_anything() -> None:
    shown = run("status", "--json")
    assert shown.exit_code == 4
    assert json.loads(shown.stderr)["exit_code"] == 4
    found = json.loads(shown.stdout)
    assert (found["partner"], found["credential"], found["quota"]) == (None, None, None)


def test_status_without_anything() -> None:
    shown = run("status")
    assert shown.exit_code == 4
    assert shown.stdout.splitlines() == [
        "profile       default  (by default)",
        "base url      -  (not set)",
        "partner       -  (not set)",
    ]
    assert "adanalytics login" in shown.stderr


def test_status_of_an_expired_login(sign_in: Run, place: LocalServer, logins: Path) -> None:
    sign_in()
    kept = json.loads(logins.read_text())
    kept["logins"]["default"]["expires_at"] = 1_750_000_000
    logins.write_text(json.dumps(kept))
    place.journal.clear()
    shown = run("status")
    assert shown.exit_code == 4
    assert "until         2025-06-15 15:06 UTC  (expired)\n" in shown.stdout
    assert shown.stderr.splitlines()[1] == "Run: adanalytics login"
    assert not list(place.journal.entries())


def test_logout(sign_in: Run, logins: Path) -> None:
    sign_in()
    sign_in("--profile", "night")
    assert "\nprofiles      default, night  (" in run("status").stdout
    assert "Removed the login of profile default" in run("-v", "logout").stderr
    assert list(json.loads(logins.read_text())["logins"]) == ["night"]
    assert run("dates").exit_code == 4
    assert "Nothing is stored" in run("-v", "logout").stderr


@pytest.fixture
def at_terminal(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """The server, and a person who may be asked; the runner takes stdin for what they type."""
    monkeypatch.setattr(login_command, "can_ask", lambda: True)
    return server


def test_only_what_was_wrong_is_asked_for_again(at_terminal: LocalServer, logins: Path) -> None:
    """An address that is none, one where nobody answers, a wrong password, a wrong partner."""
    at = at_terminal
    tls = at.url.replace("http:", "https:")
    typed = ["stats.example", "http://127.0.0.1:9", tls, at.url, "nobody", at.email, "wrong"]
    typed += [at.email, at.password, "acme"]
    done = run("login", stdin="".join(f"{line}\n" for line in typed))
    assert done.exit_code == 0, done.stderr
    assert json.loads(logins.read_text())["logins"]["default"]["base_url"] == at.url
    errors = [line for line in done.output.splitlines() if line.startswith("Error: ")]
    assert errors == [
        ("Error: The address is not an http or https address. Did you mean https://stats.example?"),
        (
            "Error: The client could not connect to 127.0.0.1:9: Connection refused. "
            "Check the address and the network, or try later."
        ),
        (
            f"Error: {at.url.removeprefix('http://')} does not speak https. "
            "Did you mean http:// in the address?"
        ),
        "Error: The credential was refused (401: Unauthorized). Check the e-mail and password.",
        "Error: Not found (404). Check the partner.",
    ]
    questions = ("Address of the service: ", "Partner: ", "E-mail ", "Password of ")
    assert [done.output.count(each) for each in questions] == [4, 2, 2, 2]
    assert not any(each.strip() in done.stdout for each in questions)
    assert at.password not in done.output


def test_an_address_without_a_login_is_not_blamed_on_the_partner(
    at_terminal: LocalServer, httpserver: HTTPServer
) -> None:
    httpserver.expect_request(re.compile("/.*")).respond_with_json({}, status=404)
    typed = (httpserver.url_for("/wrong"), "acme", at_terminal.email, at_terminal.password)
    done = run("login", stdin="".join(f"{line}\n" for line in typed))
    assert done.exit_code == 2
    assert done.output.endswith("Error: Not found (404).\nCheck --base-url, or try later.\n")


def test_a_login_again_keeps_the_address_and_the_partner(
    at_terminal: LocalServer, logins: Path, tmp_path: Path
) -> None:
    at = at_terminal
    first = run("login", stdin="".join(f"{each}\n" for each in (at.url, "acme", "", at.api_key)))
    assert first.exit_code == 0, first.stderr
    kept = (tmp_path / "config/adanalytics/config.toml").read_text()
    again = run("login", stdin=f"\n\n{at.api_key}\n")
    assert again.exit_code == 0, again.stderr
    assert f"Address of the service [{at.url}]: " in again.output
    assert "Partner [acme]: " in again.output
    assert (tmp_path / "config/adanalytics/config.toml").read_text() == kept


def test_a_refused_email_is_the_default_of_the_next_question(
    at_terminal: LocalServer, logins: Path
) -> None:
    at = at_terminal
    typed = [at.email, "wrong", "", at.password]
    place = ["--base-url", at.url, "--partner", "acme"]
    done = run("login", *place, stdin="".join(f"{line}\n" for line in typed))
    assert done.exit_code == 0, done.stderr
    assert f"\nE-mail [{at.email}]: " in done.output
    assert json.loads(logins.read_text())["logins"]["default"]["email"] == at.email


def test_the_way_of_the_last_login_is_offered(at_terminal: LocalServer) -> None:
    at = at_terminal
    place = ["--base-url", at.url, "--partner", "acme"]
    asked = []
    for typed in (["", at.api_key], [at.api_key], ["", at.email, at.password],
                  [at.password], ["", at.api_key], ["", at.password]):  # fmt: skip
        done = run("login", *place, stdin="".join(f"{line}\n" for line in typed))
        assert done.exit_code == 0, done.stderr
        asked.append(done.output.partition(": ")[0])
    password = f"Password of {at.email} (leave empty to use an API key)"
    key = "API key (leave empty to use an e-mail)"
    assert asked == ["E-mail (leave empty to use an API key)", key, key, password, password, key]


class Keyring(KeyringBackend):
    """A keyring in memory that can be told to fail, or to hang."""

    priority = 1

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.trouble: Exception | None = None
        self.answers = Event()
        self.answers.set()

    def get_password(self, service: str, username: str) -> str | None:
        self.answers.wait(60)
        if self.trouble:
            raise self.trouble
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.get_password(service, username)
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def ring() -> Iterator[Keyring]:
    before, ring = keyring.get_keyring(), Keyring()
    keyring.set_keyring(ring)
    yield ring
    ring.answers.set()
    keyring.set_keyring(before)


def test_the_keyring_is_used_when_there_is_one(sign_in: Run, ring: Keyring, logins: Path) -> None:
    sign_in()
    (token,) = ring.kept.values()
    assert token not in logins.read_text()
    assert run("dates").exit_code == 0
    assert "signed in as" in run("status").stdout
    assert "from the keyring" in run("-v", "logout").stderr
    assert ring.kept == {}


def test_a_keyring_that_fails_is_told_and_left(sign_in: Run, ring: Keyring) -> None:
    ring.trouble = RuntimeError("no bus\nwith more lines")
    done = sign_in()
    assert done.exit_code == 0
    warning, signed_in, stored = done.stderr.splitlines()
    assert warning == "The keyring cannot be used: no bus. Using a private file instead."
    assert signed_in.startswith("Signed in to ")
    assert stored.startswith("Stored for profile default in ")
    assert run("dates").exit_code == 0


def test_a_keyring_that_is_required_and_fails_leaves_no_profile(
    sign_in: Run, ring: Keyring, tmp_path: Path
) -> None:
    ring.trouble = RuntimeError("no bus")
    assert sign_in("--store", "keyring").exit_code == 4
    assert not (tmp_path / "config").exists()


def test_a_keyring_that_hangs_is_left_after_a_while(
    sign_in: Run, ring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in()
    monkeypatch.setattr(keyring_access, "TIMEOUT", 0.01)
    ring.answers.clear()
    later = run("dates")
    assert later.exit_code == 4
    assert "did not answer" in later.stderr
    assert "adanalytics login" in later.stderr
    assert "did not answer" in sign_in().stderr
    assert run("dates").exit_code == 0


def test_a_keyring_that_forgets_at_once_is_not_trusted(
    sign_in: Run, ring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Keyring, "set_password", lambda *_given: None)
    assert "does not keep" in sign_in().stderr
    assert run("dates").exit_code == 0


@pytest.mark.parametrize("danger", ["open", "link", "pipe", "text"])
def test_a_file_that_is_not_private_is_not_read(
    sign_in: Run, logins: Path, danger: str, tmp_path: Path
) -> None:
    sign_in()
    content = logins.read_text()
    if danger == "open":
        logins.chmod(0o640)
    elif danger == "text":
        logins.write_text(content[:50])
    else:
        logins.unlink()
        target = tmp_path / "elsewhere"
        target.write_text(content)
        target.chmod(0o600)
        logins.symlink_to(target) if danger == "link" else os.mkfifo(logins, 0o600)
    done = run("dates")
    assert done.exit_code == 4
    assert str(logins) in done.stderr
    assert "chmod 600" in done.stderr or "Remove" in done.stderr
    assert json.loads(content)["logins"]["default"]["secret"] not in done.stderr


def test_a_folder_that_is_a_link_gets_no_secret(sign_in: Run, logins: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    logins.parent.parent.mkdir()
    logins.parent.symlink_to(tmp_path / "open")
    assert sign_in().exit_code == 4
    # The count of requests, which is no secret, may be there.
    assert [each.name for each in (tmp_path / "open").iterdir()] in ([], ["quota"])
