"""Every log record of every kind of failure, at DEBUG, without a credential or a signature."""

import json
import logging
import os
import re
import socket
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.client.bench import Bench
from tests.client.stand_in import Say, StandIn
from tests.client.variants import BOTH_LIBRARIES, Variant
from tests.programs import run_program

from adanalytics_client import Client, QuotaPolicy, errors
from adanalytics_client._base.logs import JsonFormatter
from adanalytics_server.local import LocalServer

SIGNED = "/f.csv?X-Signature=s3cret-sign&format=csv"
ETAG = {"ETag": '"1"'}
DAY = "2026-01-15"


class Records(logging.Handler):
    """Keeps each record as it would be written, with its arguments and traceback."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.names: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        self.names.add(record.name.partition(".")[0])
        self.lines.append(f"{self.format(record)} {record.msg!r} {record.args!r}")


@pytest.fixture
def records() -> Iterator[Records]:
    handler, root = Records(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler
    root.setLevel(level)
    root.removeHandler(handler)


def _answers(other: str) -> dict[str, list[Say]]:
    """What may come instead of an answer; each echoes what it should not."""
    echo = {"error": "no s3cret-key s3cret-word s3cret-token"}
    cookie = {"Set-Cookie": "sid=s3cret-token", "X-Request-Id": "s3cret-key"}
    moved = {"Location": f"{other}{SIGNED}"}
    return {
        "statuses": [Say(echo, status=each, headers=cookie) for each in (400, 401, 403, 404)],
        "limit": [Say(echo, status=429, headers={"Retry-After": "1", **cookie})],
        "server": [Say(echo, status=503, phrase="s3cret-key s3cret-word s3cret-token")],
        "gone": [Say(hang_up=True)],
        "cut": [Say(echo, cut=9), Say(echo, cut=9, chunked=True)],
        "html": [Say(b"<html>s3cret-key", headers={"Content-Type": "text/html"})],
        "gzip": [Say(b"s3cret-key", headers={"Content-Encoding": "gzip"})],
        "redirect": [Say(status=302, headers=moved), Say(status=307, headers={"Location": SIGNED})],
    }


def _calls(variant: Variant, folder: Path) -> list[Callable[[], object]]:
    return [
        lambda: variant.call("dates"),
        lambda: variant.rows(DAY, hour=3),
        lambda: variant.call("export", DAY, to=folder / "out.csv"),
        lambda: variant.on(variant.call("start_export", DAY), "status"),
    ]


@BOTH_LIBRARIES
@pytest.mark.parametrize(
    ("credential", "secrets"),
    [
        ({"api_key": "s3cret-key"}, ["s3cret-key", "s3cret-sign"]),
        (
            {"email": "a@b.example", "password": "s3cret-word"},
            ["s3cret-word", "s3cret-token", "s3cret-sign"],
        ),
    ],
    ids=["key", "login"],
)
def test_no_record_tells_a_secret(
    bench: Bench,
    library: str,
    other_origin: StandIn,
    records: Records,
    tmp_path: Path,
    credential: dict[str, Any],
    secrets: list[str],
) -> None:
    told: list[str] = []

    def attempt(call: Callable[[], object]) -> None:
        try:
            call()
        except errors.AdAnalyticsError as error:
            told.append("".join(traceback.format_exception(error)))

    other_origin.says(Say({"dates": [], "echo": "s3cret-sign"}))
    for answers in _answers(other_origin.url).values():
        for bad in answers:
            bench.says(
                login=[Say({"token": "s3cret-token"})],
                dates=[bad],
                events=[bad],
                bulk_export=[Say({"status": "done", "status_url": "/st", "url": SIGNED}), bad],
                f_csv=[Say(b"a,b\r\n1,2\r\n", headers=ETAG, cut=4), bad],
                st=[bad],
            )
            for call in _calls(bench.open(quota=QuotaPolicy(log="memory"), **credential), tmp_path):
                attempt(call)
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    attempt(lambda: bench.open(url, quota=QuotaPolicy(log="memory"), **credential).call("dates"))

    assert len(told) > 25
    assert {library, library.replace("httpx", "httpcore")} <= records.names
    notes = [each.read_text() for each in tmp_path.iterdir() if each.suffix == ".json"]
    for text in (*records.lines, *told, *notes):
        assert not any(secret in text for secret in secrets), text


def test_each_request_is_told_at_debug(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "adanalytics_client")
    bench.says(Say(status=503), Say({"events": [], "has_more": False}))
    bench.rows(DAY, hour=3)
    query = "start_date=2026-01-15&end_date=2026-01-15&hour=3&page=1&per_page=10000"
    address = f"GET {bench.url}/api/partners/acme/ad-analytics/events?{query}"
    told = [each.message.rpartition(" after ")[0] for each in caplog.records if each.levelno < 20]
    assert told == [f"{address}: 503", f"{address}: 200"]
    (retry,) = [each.getMessage() for each in caplog.records if each.levelno == logging.INFO]
    assert retry.startswith(f"{address[4:]}: attempt 1 failed, the next one follows in ")
    assert retry.endswith(" s. The service failed (503).")


def test_so_is_the_attempt_after_a_wait_for_quota(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "adanalytics_client")
    busy = Say(status=429, headers={"Retry-After": "0.4"})
    bench.says(busy, Say({"events": [], "has_more": False}))
    bench.rows(DAY, hour=3)
    (retry,) = [each.getMessage() for each in caplog.records]
    assert "attempt 1 failed, the next one follows in 0.5 s." in retry
    assert "(429), until 2027-01-15 08:00:00 UTC." in retry


@pytest.mark.parametrize(
    ("prepare", "level", "begin"),
    [
        ("pass", "debug", r"[-\d]+ [:,\d]+ DEBUG adanalytics_client: GET http"),
        ("import logging; logging.basicConfig()", "DEBUG", "DEBUG:adanalytics_client:GET http"),
        ("pass", "error", "$"),
    ],
)
def test_the_environment_can_ask_for_the_log(
    reference: LocalServer, prepare: str, level: str, begin: str
) -> None:
    code = f"""
{prepare}
from adanalytics_client import Client
for _ in range(2):
    client = Client({reference.url!r}, api_key="wrong-key", partner="acme")
client.dates()
"""
    done = run_program([sys.executable, "-c", code], env={**os.environ, "ADANALYTICS_LOG": level})
    logged = done.stderr.partition("Traceback")[0]
    assert re.fullmatch(f"{begin}.*\\n" if begin != "$" else "", logged), logged


def test_records_can_be_lines_of_json(reference: LocalServer) -> None:
    code = f"""
from adanalytics_client import Client
Client({reference.url!r}, api_key="wrong-key", partner="acme").dates()
"""
    environment = {"ADANALYTICS_LOG": "debug", "ADANALYTICS_LOG_FORMAT": "json"}
    done = run_program([sys.executable, "-c", code], env={**os.environ, **environment})
    record = json.loads(done.stderr.partition("\n")[0])
    assert list(record) == ["time", "level", "logger", "message"]
    assert (record["level"], record["logger"]) == ("DEBUG", "adanalytics_client")
    assert "401" in record["message"]


def test_a_line_of_json_has_what_came_with_the_record_and_its_exception() -> None:
    made = {"msg": "Line\nof %s", "args": ("two",), "levelname": "INFO", "name": "n", "created": 0}
    record = logging.makeLogRecord({**made, "tries": 2})
    try:
        int("odd")
    except ValueError:
        record.exc_info = sys.exc_info()
    line = JsonFormatter().format(record)
    assert "\n" not in line
    told = json.loads(line)
    assert (told["time"], told["message"]) == ("1970-01-01T00:00:00.000+00:00", "Line\nof two")
    assert told["tries"] == 2
    assert told["exception"].endswith("base 10: 'odd'")


@pytest.mark.parametrize("variable", ["ADANALYTICS_LOG", "ADANALYTICS_LOG_FORMAT"])
def test_an_unknown_setting_is_refused(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "loud")
    known = {"ADANALYTICS_LOG": "debug, info, warning, error", "ADANALYTICS_LOG_FORMAT": "text or"}
    with pytest.raises(errors.ConfigurationError, match=f"Set it to {known[variable]}"):
        Client("http://stats.example", api_key="k")
