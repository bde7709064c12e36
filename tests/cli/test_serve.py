"""`adanalytics serve` as a service: its log, its end by SIGTERM, its container."""

import json
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from click.testing import Result

from adanalytics_cli.commands.serve import serve

ROOT = Path(__file__).parents[2]
TIMEOUT = 60
Spawn = Callable[..., "subprocess.Popen[bytes]"]


def start(spawn: Spawn, data: Path, *words: str) -> tuple["subprocess.Popen[bytes]", str]:
    """Start a server and return it with its address, which it says first."""
    process = spawn("serve", "--port", "0", "--data", str(data), *words)
    assert process.stderr is not None
    found = re.search(r"http://[0-9.:]+", process.stderr.readline().decode())
    assert found
    return process, found[0]


def stop(process: "subprocess.Popen[bytes]") -> str:
    """End a server in good order and return what it said since its address."""
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0
    return log.decode()


def test_the_log_as_json_is_json_from_the_first_line_to_the_last(
    spawn: Spawn, tmp_path: Path
) -> None:
    process = spawn("serve", "--port", "0", "--data", str(tmp_path), "--log-format", "json")
    assert process.stderr is not None
    first = json.loads(process.stderr.readline())
    url = re.findall(r"http://[0-9.:]+", first["message"])[0]
    answer = httpx.get(f"{url}/livez")
    entries = [json.loads(line) for line in stop(process).splitlines()]
    assert [entry.get("path") for entry in entries] == ["/livez", None]
    assert entries[0]["request_id"] == answer.headers["x-request-id"]
    assert entries[1]["message"].startswith("Stopping")


def test_the_log_as_text_has_a_line_for_each_request(spawn: Spawn, tmp_path: Path) -> None:
    process, url = start(spawn, tmp_path)
    httpx.get(f"{url}/nowhere?api_key=aak_secret")
    line, _ = stop(process).splitlines()
    form = (
        r"\d{4}-\d\d-\d\dT[0-9:.]{12}Z INFO GET /nowhere\?\.\.\. 404 [0-9.]+ ms 21 bytes - \w{32}"
    )
    assert re.fullmatch(form, line)


def test_quiet_leaves_warnings_only(spawn: Spawn, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    process = spawn(
        "-q", "serve", "--port", "0", "--data", str(tmp_path), "--ready-file", str(ready)
    )
    while not ready.exists():
        assert process.poll() is None
    httpx.get(f"{ready.read_text().strip()}/livez")
    assert stop(process) == ""


def test_sigterm_lets_a_request_finish_and_takes_no_other(spawn: Spawn, tmp_path: Path) -> None:
    process, url = start(spawn, tmp_path)
    assert process.stderr is not None
    address = urlsplit(url)
    place = (address.hostname, address.port)
    body = b'{"email":"a@example.org","password":"wrong password"}'
    with (
        closing(socket.create_connection(place, TIMEOUT)) as idle,
        closing(socket.create_connection(place, TIMEOUT)) as busy,
    ):
        busy.sendall(
            b"POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        # The server says this when the application has begun to wait for the body.
        assert busy.recv(1000).startswith(b"HTTP/1.1 100 ")
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


def test_the_container_starts_a_command_that_exists_and_is_not_root() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    said = dict(line.split(" ", 1) for line in lines if line.startswith(("ENTRY", "CMD", "USER")))
    words = json.loads(said["CMD"])
    context = serve.make_context("serve", words[1:], resilient_parsing=True)
    assert json.loads(said["ENTRYPOINT"]) == ["adanalytics"]
    assert words[0] == "serve"
    assert context.params["host"] == "0.0.0.0"
    assert context.params["allow_remote"]
    assert said["USER"] not in {"root", "0"}


def test_off_this_machine_only_on_request_and_without_the_demo(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    refused = run("serve", "--host", "0.0.0.0", "--data", str(tmp_path))
    assert (refused.exit_code, "--allow-remote" in refused.stderr) == (2, True)
    words = ["--host", "0.0.0.0", "--allow-remote", "--demo", "--data", str(tmp_path)]
    refused = run("serve", *words)
    assert (refused.exit_code, "--demo shows its API key" in refused.stderr) == (2, True)


def test_dialect_and_test_controls(spawn: Spawn, tmp_path: Path) -> None:
    process, url = start(spawn, tmp_path, "--test-controls", "--dialect", "modern")
    assert httpx.get(f"{url}/_control/clock").status_code == httpx.codes.OK
    stop(process)


def test_no_test_controls_unasked(spawn: Spawn, tmp_path: Path) -> None:
    process, url = start(spawn, tmp_path)
    assert httpx.get(f"{url}/_control/clock").status_code == httpx.codes.NOT_FOUND
    stop(process)
