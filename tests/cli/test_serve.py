"""`adanalytics serve` as a service: its log, its ends, its container; and how one gets there."""

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
from tests.cli.processes import TIMEOUT, Spawn, finish
from tests.cli.run import Run

from adanalytics_cli.server.serve import serve

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


def test_serve_until_sigterm(spawn: Spawn, run: Run, tmp_path: Path) -> None:
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
    spawn: Spawn, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
