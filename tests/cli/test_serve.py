"""`adanalytics serve`, `server` and `demo`: logs, ends, the container, and data that fill it."""

import builtins
import csv
import io
import json
import re
import signal
import socket
import subprocess
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from click.testing import Result
from tests.cli.processes import TIMEOUT, Spawn, finish
from tests.cli.run import run

from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.demo.run import Demo, Story
from adanalytics_cli.server.demo_data import EMAIL, prepare_demo_data
from adanalytics_cli.server.serve import serve
from adanalytics_client import ExportJob
from adanalytics_server.admin import list_users
from adanalytics_server.local import LocalServer

ROOT = Path(__file__).parents[2]


def start(spawn: Spawn, data: Path, *words: str) -> tuple["subprocess.Popen[bytes]", str]:
    """Start a server and return it with its address, which it says first."""
    process = spawn("serve", "--port", "0", "--data", str(data), *words)
    assert process.stderr is not None
    found = re.search(r"http://[0-9.:]+", process.stderr.readline().decode())
    assert found
    return process, found[0]


def stop(process: "subprocess.Popen[bytes]", number: int = signal.SIGTERM) -> str:
    """End a server in good order and return what it said since its address."""
    process.send_signal(number)
    _, log = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0
    return log.decode()


def wait_for(ready: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait for the file of a server that has started."""
    while not ready.exists():
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.02)


def place_of(url: str) -> tuple[str | None, int | None]:
    address = urlsplit(url)
    return address.hostname, address.port


def begin_to_sign_in(connection: socket.socket, length: int) -> None:
    """Send a request that is under way until its body is sent, too."""
    connection.sendall(
        b"POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % length
    )
    # The server says this when the application has begun to wait for the body.
    assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")


def test_the_log_as_json_is_json_from_the_first_line_to_the_last(
    spawn: Spawn, tmp_path: Path
) -> None:
    words = ["--log-format", "json", "--test-controls", "--dialect", "modern"]
    process = spawn("serve", "--port", "0", "--data", str(tmp_path), *words)
    assert process.stderr is not None
    first = json.loads(process.stderr.readline())
    url = re.findall(r"http://[0-9.:]+", first["message"])[0]
    answer = httpx.get(f"{url}/livez")
    assert httpx.get(f"{url}/_control/clock").status_code == httpx.codes.OK
    entries = [json.loads(line) for line in stop(process).splitlines()]
    assert [entry.get("path") for entry in entries] == ["/livez", "/_control/clock", None]
    assert entries[0]["request_id"] == answer.headers["x-request-id"]
    assert entries[2]["message"].startswith("Stopping")


def test_the_log_as_text_has_a_line_for_each_request_and_ctrl_c(
    spawn: Spawn, tmp_path: Path
) -> None:
    process, url = start(spawn, tmp_path)
    httpx.get(f"{url}/nowhere?api_key=aak_secret")
    # Nobody asked for the controls of tests.
    assert httpx.get(f"{url}/_control/clock").status_code == httpx.codes.NOT_FOUND
    process.send_signal(signal.SIGINT)
    code, _, said = finish(process)
    line, *_, last = said.splitlines()
    assert (code, last) == (130, "Interrupted.")
    form = (
        r"\d{4}-\d\d-\d\dT[0-9:.]{12}Z INFO GET /nowhere\?\.\.\. 404 [0-9.]+ ms 21 bytes - \w{32}"
    )
    assert re.fullmatch(form, line)


def test_quiet_leaves_warnings_only(spawn: Spawn, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    process = spawn(
        "-q", "serve", "--port", "0", "--data", str(tmp_path), "--ready-file", str(ready)
    )
    wait_for(ready, process)
    httpx.get(f"{ready.read_text().strip()}/livez")
    assert stop(process) == ""


def test_a_quiet_demo_shows_how_to_sign_in_and_leaves_nothing_when_its_terminal_closes(
    spawn: Spawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = spawn("-q", "serve", "--demo", "--demo-events", "20", "--port", "0")
    assert process.stderr is not None
    url, _, key, _, web, email, password = (
        process.stderr.readline().decode().strip() for _ in range(7)
    )
    assert [*tmp_path.glob("adanalytics-*")]
    url = url.removeprefix("export ADANALYTICS_BASE_URL=")
    assert web == f"Web area: {url}/"
    account = {"email": email.split()[1], "password": password.split()[1]}
    assert httpx.post(f"{url}/api/auth/login", json=account).status_code == httpx.codes.OK
    assert key.startswith("export ADANALYTICS_API_KEY=aak_")
    assert stop(process, signal.SIGHUP) == ""
    assert not [*tmp_path.glob("adanalytics-*")]


def test_sigterm_lets_a_request_finish_and_takes_no_other(spawn: Spawn, tmp_path: Path) -> None:
    process, url = start(spawn, tmp_path)
    assert process.stderr is not None
    place = place_of(url)
    body = b'{"email":"a@example.org","password":"wrong password"}'
    with (
        closing(socket.create_connection(place, TIMEOUT)) as idle,
        closing(socket.create_connection(place, TIMEOUT)) as busy,
    ):
        begin_to_sign_in(busy, len(body))
        process.send_signal(signal.SIGTERM)
        assert b"Stopping" in process.stderr.readline()
        assert idle.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place, TIMEOUT)
        busy.sendall(body)
        answer = b"".join(iter(lambda: busy.recv(10_000), b""))
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b" 401 " in process.communicate(timeout=TIMEOUT)[1]
    assert process.returncode == 0


def test_a_second_ctrl_c_does_not_wait_for_requests(spawn: Spawn, tmp_path: Path) -> None:
    process, url = start(spawn, tmp_path)
    assert process.stderr is not None
    place = place_of(url)
    with (
        closing(socket.create_connection(place, TIMEOUT)) as idle,
        closing(socket.create_connection(place, TIMEOUT)) as busy,
    ):
        begin_to_sign_in(busy, 100)
        process.send_signal(signal.SIGINT)
        assert idle.recv(1) == b""
        process.send_signal(signal.SIGINT)
        code, _, log = finish(process)
    assert code == 130
    # This is what the log says once the time for requests is over.
    assert "Given up" not in log
    assert "Traceback" not in log
    assert log.endswith("\nInterrupted.\n")


def test_the_container_starts_a_command_that_exists_and_is_not_root() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    said = dict(line.split(" ", 1) for line in lines if line.startswith(("ENTRY", "CMD", "USER")))
    words = json.loads(said["CMD"])
    context = serve.make_context("serve", words[1:], resilient_parsing=True)
    assert json.loads(said["ENTRYPOINT"]) == ["adanalytics"]
    assert words[0] == "serve"
    assert context.params["host"] == "0.0.0.0"
    assert context.params["allow_remote"]
    assert int(said["USER"].partition(":")[0])


def test_all_of_it_for_tests_is_open_and_a_file_says_how_to_get_in(
    spawn: Spawn, tmp_path: Path
) -> None:
    """With the words of the image, and a key that is there again after a restart."""
    lines = (ROOT / "Dockerfile").read_text().split("AS for-tests\n")[1].splitlines()
    words = [*json.loads(lines[0].removeprefix("CMD ")), "--port", "0", "--data", str(tmp_path)]
    words[words.index("2000")] = "20"
    ready = tmp_path / "ready.json"
    for _ in range(2):
        process = spawn(*words, "--ready-file", str(ready))
        wait_for(ready, process)
        said = json.loads(ready.read_text())
        url = said["url"]
        assert (ready.stat().st_mode & 0o777, place_of(url)[0]) == (0o600, "127.0.0.1")
        assert (said["partner"], said["api_key"]) == ("acme", "aak_only-for-tests")
        headers = {"Authorization": f"Bearer {said['api_key']}", "Host": "adanalytics:8000"}
        days = {"start_date": "2026-01-15", "end_date": "2026-01-16"}
        path = f"{url}/api/partners/acme/ad-analytics/events"
        answer = httpx.get(path, params=days, headers=headers)
        assert answer.json()["meta"]["total"] == 40
        assert httpx.get(f"{url}/_control/clock", headers=headers).status_code == httpx.codes.OK
        stop(process)


def test_the_server_responds_as_the_service_of_a_file(spawn: Spawn, tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text("rows_key = 'hits'\n[headers]\nrequest_id = 'x-trace'\n")
    words = ("--demo", "--demo-key", "aak_for-tests", "--demo-events", "20", "--as", str(file))
    process, url = start(spawn, tmp_path / "data", *words)
    response = httpx.get(
        f"{url}/api/partners/acme/ad-analytics/events",
        params={"start_date": "2000-01-01", "end_date": "2099-12-31"},
        headers={"Authorization": "Bearer aak_for-tests"},
    )
    assert (len(response.json()["hits"]) >= 20, "x-trace" in response.headers) == (True, True)
    stop(process)


def test_serve_until_sigterm(spawn: Spawn, tmp_path: Path) -> None:
    ready, data = tmp_path / "ready", tmp_path / "data"
    process = spawn("serve", "--port", "0", "--data", str(data), "--ready-file", str(ready))
    assert process.stderr is not None
    first = process.stderr.readline().decode()
    url = first.split()[1]
    assert first.startswith(f"Serving {url} from {data}. Get a key: adanalytics server key create")
    assert run("server", "health", url).stdout == f"{url} is ready\n"

    busy = finish(spawn("serve", "--port", url.rpartition(":")[2], "--data", str(tmp_path / "b")))
    assert busy[0] == 1
    assert "is in use" in busy[2]
    assert len(busy[2].splitlines()) == 1

    same_folder = finish(spawn("serve", "--port", "0", "--data", str(data)))
    assert same_folder[0] == 1
    assert same_folder[2].startswith("Error: another server is running")
    assert len(same_folder[2].splitlines()) == 1

    process.send_signal(signal.SIGTERM)
    code, _, log = finish(process)
    assert code == 0
    assert [line.split(maxsplit=2)[2].split()[0] for line in log.splitlines()] == [
        "GET",
        "Stopping:",
    ]
    assert not ready.exists()


def test_from_an_empty_folder_to_a_summary(
    spawn: Spawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a newcomer does, command by command."""
    monkeypatch.chdir(tmp_path)
    assert run("server", "partner", "add", "acme").exit_code == 0
    add = "server user add ada@example.org --role admin --password-stdin"
    added = run(*add.split(), stdin="a long password\n")
    assert (added.exit_code, added.stdout) == (0, "")
    key = run("server", "key", "create", "--user", "ada@example.org", "--name", "k")
    assert (key.exit_code, key.stdout.count("\n")) == (0, 1)
    generate = ["--partner", "acme", "--start", "2026-01-15", "--events-per-day", "240"]
    generated = run("server", "generate", *generate)
    assert generated.stdout == "acme: 240 events stored on 1 day from 2026-01-15\n"
    server = spawn("serve", "--port", "0")
    assert server.stderr is not None
    monkeypatch.setenv("ADANALYTICS_BASE_URL", server.stderr.readline().decode().split()[1])
    monkeypatch.setenv("ADANALYTICS_API_KEY", key.stdout.strip())
    monkeypatch.setenv("ADANALYTICS_PARTNER", "acme")
    summary = run("summary", "2026-01", "-f", "json")
    assert (summary.exit_code, json.loads(summary.stdout)[0]["requests"] > 0) == (0, True)
    server.send_signal(signal.SIGTERM)
    assert finish(server)[0] == 0


HEADER = "event_time,event_type,supply_tag_id,note\n"
PASSWORD = "correct horse"


@pytest.fixture
def data_folder(tmp_path: Path) -> str:
    """A data folder with the partner acme and the admin ada."""
    folder = str(tmp_path / "data")
    add_user = ("server", "user", "add", "ada@example.org", "--role", "admin")
    assert run("server", "partner", "add", "acme", "--data", folder).exit_code == 0
    assert run(*add_user, "--password-stdin", "--data", folder, stdin=PASSWORD).exit_code == 0
    return folder


def rows(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_partners(data_folder: str) -> None:
    added = run("-v", "server", "partner", "add", "b", "--name", "B & Co", "--currency", "EUR",
                "--data", data_folder)  # fmt: skip
    assert added.stdout == ""
    assert added.stderr == f"Added partner b (B & Co, EUR) in {data_folder}.\n"
    assert rows(run("server", "partner", "list", "--data", data_folder)) == [
        {"id": "acme", "name": "acme", "currency": "USD"},
        {"id": "b", "name": "B & Co", "currency": "EUR"},
    ]


def test_users(data_folder: str) -> None:
    words = ["server", "user", "add", "bo@acme.example", "--role", "analyst", "--partner", "acme"]
    assert (
        run(*words, "--password-stdin", "--data", data_folder, stdin=PASSWORD + "\n").exit_code == 0
    )
    listed = rows(run("server", "user", "list", "--data", data_folder))
    assert [each["email"] for each in listed] == ["ada@example.org", "bo@acme.example"]
    assert run("server", "user", "delete", "bo@acme.example", "--data", data_folder).exit_code == 0
    assert len(rows(run("server", "user", "list", "--data", data_folder))) == 1


def test_keys(data_folder: str) -> None:
    words = ["server", "key", "create", "--user", "ada@example.org", "--name", "nightly"]
    created = run(*words, "--data", data_folder)
    assert (
        created.stderr == "This key is not shown again. Clients read it from ADANALYTICS_API_KEY.\n"
    )
    key = created.stdout.strip()
    assert created.stdout == f"{key}\n"
    assert key.startswith("aak_")
    (listed,) = rows(run("server", "key", "list", "--data", data_folder))
    assert (listed["name"], listed["last_four"], listed["last_used_at"]) == (
        "nightly",
        key[-4:],
        "",
    )
    assert key not in run("server", "key", "list", "--data", data_folder).stdout
    (as_json,) = json.loads(
        run("server", "key", "list", "-f", "json", "--data", data_folder).stdout
    )
    assert (as_json["id"], as_json["last_used_at"]) == (int(listed["id"]), None)
    assert run("server", "key", "delete", "nightly", "--data", data_folder).exit_code == 0
    assert rows(run("server", "key", "list", "--data", data_folder)) == []


def test_load_reports_what_became_of_a_file(data_folder: str, tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text(
        HEADER
        + "2026-01-17 10:00:00,impression,1,a\n"
        + "2026-01-18T10:00:00Z,click,1,b\n"
        + "2026-01-18T10:00:00Z,click,1,c\n"
    )
    words = ["server", "load", str(path), "--partner", "acme", "--data", data_folder]
    first = run(*words, "--where", "event_type=impression")
    assert first.stdout == (
        f"{path}: 3 rows, 1 event stored, 2 rows left out by --where, 1 day (2026-01-17)\n"
        "  columns ignored: note\n"
        "  times without a zone, taken as UTC: 1\n"
    )
    second = run(*words)
    assert "3 rows, 2 events stored, 1 duplicate skipped, 1 day (2026-01-18)" in second.stdout


def test_load_with_a_mapping(data_folder: str, tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("timestamp\n2026-01-17T10:00:00Z\n")
    result = run(
        *("server", "load", str(path), "--partner", "acme", "--data", data_folder),
        *("--map", "event_time=timestamp", "--set", "event_type=click"),
        *("--set", "supply_tag_id=1"),
    )
    assert "1 row, 1 event stored" in result.stdout


def test_load_that_replaces_hours(data_folder: str, tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    words = ["server", "load", str(path), "--partner", "acme", "--data", data_folder]
    path.write_text(HEADER + "2026-01-17T10:00:00Z,impression,1,a\n")
    run(*words)
    path.write_text(HEADER + "2026-01-17T10:30:00Z,click,1,a\n")
    assert "hours replaced: 1" in run(*words, "--replace-hours").stdout


def test_load_of_changed_rows_says_how_to_replace_them(data_folder: str, tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    words = ["server", "load", str(path), "--partner", "acme", "--data", data_folder]
    row = "01890000-0000-7000-8000-00000000000{},2026-01-17T10:00:00Z,{},1\n"
    header = "event_id,event_time,event_type,supply_tag_id\n"
    path.write_text(header + "".join(row.format(n, "impression") for n in range(4)))
    assert "differ" not in run(*words).stdout
    assert "differ" not in run(*words).stdout
    # The third comes twice, and only once as it is stored.
    kinds = [(0, "click"), (1, "impression"), (2, "impression"), (2, "click"), (4, "impression")]
    path.write_text(header + "".join(row.format(*each) for each in kinds))
    told = run(*words).stdout
    assert "5 rows, 1 event stored, 4 duplicates skipped" in told
    assert "2 rows differ from those stored; --replace-hours replaces them" in told
    path.write_text(header + row.format(0, "click"))
    assert "1 event stored" in run(*words, "--replace-hours").stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEADER + "2026-01-17T10:00:00Z,impression,1,a\n2026-01-17,clack,1,b\n", "day.csv:3: "),
        (HEADER + "2026-01-17T10:00:00Z,clack,1,a\n", "day.csv:2: event_type: 'clack'"),
        ("event_time\n2026-01-17T10:00:00Z\n", "event_type"),
    ],
)
def test_a_bad_file_is_refused_as_a_whole(
    data_folder: str, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "day.csv"
    path.write_text(text)
    result = run("server", "load", str(path), "--partner", "acme", "--data", data_folder)
    assert result.exit_code == 1
    assert said in result.stderr
    assert "nothing was loaded" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    path.write_text(HEADER + "2026-01-17T10:00:00Z,impression,1,a\n")
    again = run("server", "load", str(path), "--partner", "acme", "--data", data_folder)
    assert "1 event stored" in again.stdout


def test_generate_the_same_again(data_folder: str) -> None:
    words = ["server", "generate", "--partner", "acme", "--start", "-5d", "--days", "2",
             "--events-per-day", "100", "--seed", "7", "--data", data_folder]  # fmt: skip
    assert run(*words).stdout == "acme: 200 events stored on 2 days from 2026-01-15\n"
    assert "0 events stored on 2 days from 2026-01-15, 200 already there" in run(*words).stdout


def test_a_folder_that_holds_something_else(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_text("no database, but long enough to look like a file" * 99)
    result = run("serve", "--data", str(tmp_path), "--port", "0")
    assert result.exit_code == 1
    assert "not a database" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["demo"],
        ["serve"],
        ["server", "partner", "list"],
        ["server", "load", "day.csv", "--partner", "acme"],
        ["server", "generate", "--partner", "acme", "--start", "today"],
    ],
    ids=" ".join,
)
def test_without_the_server_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str]
) -> None:
    real = builtins.__import__

    def without_server(name: str, *rest: object) -> object:
        if name.startswith("adanalytics_server"):
            raise ModuleNotFoundError("No module named 'msgspec'", name="msgspec")
        return real(name, *rest)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(builtins, "__import__", without_server)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "adanalytics-data").mkdir()
    result = run(*words)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "Error: The embedded server needs the 'server' extra, which is not installed.",
        "Install it: python -m pip install 'adanalytics[server]'",
    ]


def test_the_demo_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    invocation = Invocation()
    demo = Demo(tmp_path, invocation, Story(invocation), events_per_day=600)
    demo.run()
    told = capsys.readouterr().out
    assert "600 events in 25 requests" in told
    assert "the export has the same 600 events" in told
    assert all(len(line) <= 80 for line in told.splitlines())
    # The test server's own admin has a known password and must not stay behind.
    assert [user.email for user in list_users(demo.data)] == [EMAIL]


@pytest.mark.parametrize(("lost", "said"), [(1, "the export has 599 "), (None, r" with 0\.000")])
def test_a_difference_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int | None, said: str
) -> None:
    """An export without one of its events, or with all of them without revenue."""
    download = ExportJob.download

    def change(job: ExportJob, to: Path) -> Path:
        path = download(job, to)
        with path.open(newline="") as text:
            header, *rows = csv.reader(text)
        if lost is None:
            at = header.index("revenue")
            rows = [[*row[:at], "0.000000000", *row[at + 1 :]] for row in rows]
        with path.open("w", newline="") as text:
            csv.writer(text).writerows([header, *rows[lost or 0 :]])
        return path

    monkeypatch.setattr(ExportJob, "download", change)
    invocation = Invocation()
    with pytest.raises(CommandError, match=said):
        Demo(tmp_path, invocation, Story(invocation), events_per_day=600).run()


def test_the_demo_tells_once_how_to_sign_in(tmp_path: Path) -> None:
    first = prepare_demo_data(tmp_path, Invocation(), events=10)
    second = prepare_demo_data(tmp_path, Invocation(), events=10)
    assert first.password is not None
    assert [*first.sign_in("http://here")] == [
        "Web area: http://here/",
        f"  e-mail    {EMAIL}",
        f"  password  {first.password}",
    ]
    assert [*second.sign_in("http://here")][-1] == "  password  the one shown on the first run"
    assert first.password not in repr(first)
    body = {"email": EMAIL, "password": first.password}
    with LocalServer(data=tmp_path) as server:
        assert httpx.post(f"{server.url}/api/auth/login", json=body).status_code == httpx.codes.OK


def test_keep_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Demo, "run", lambda _demo: None)
    kept = tmp_path / "kept"
    assert f"adanalytics serve --demo --data {kept}" in run("demo", "--keep", str(kept)).stdout
