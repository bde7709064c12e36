"""What a service repeats of a credential or a signature is in no error, log or local variable."""

import asyncio
import html
import json
import logging
import os
import re
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from rich.traceback import Traceback
from tests.client.bench import Bench
from tests.client.notes import Notes
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import BOTH_LIBRARIES, Variant
from tests.programs import run_program
from tests.stored_login import store_login

import adanalytics_client
from adanalytics_client import AsyncClient, Client, Observer, QuotaPolicy, errors
from adanalytics_client._base.logs import JsonFormatter
from adanalytics_client._base.urls import Address
from adanalytics_client.observers import BytesReceived
from adanalytics_server.local import LocalServer

ECHOED = "aak_S3CRET-key"
DATES = {"dates": ["2026-01-15"]}


def test_a_request_id_that_echoes_it(bench: Bench) -> None:
    notes = Notes()
    bench.says(Say(DATES, headers={"X-Request-Id": f"Bearer {ECHOED}"}))
    bench.open(api_key=ECHOED, observer=notes).call("dates")
    assert notes.told[-1].request_id == "Bearer ***"


def test_a_redirect_that_echoes_it_in_its_path(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    notes = Notes()
    moved = Say(status=307, headers={"Location": f"/{ECHOED}/dates"})
    bench.says(moved, Say(status=503), moved, Say(DATES))
    with caplog.at_level(logging.DEBUG):
        assert len(bench.open(api_key=ECHOED, observer=notes).call("dates")) == 1
    assert bench.asked[-1].target == f"/{ECHOED}/dates"
    assert "/***/dates" in caplog.text
    assert ECHOED not in f"{notes.told}{caplog.text}"


def test_a_content_encoding_that_echoes_it(bench: Bench) -> None:
    bench.says(Say(DATES, headers={"Content-Encoding": ECHOED}))
    with pytest.raises(errors.ProtocolError, match=r"\*\*\*") as caught:
        bench.open(api_key=ECHOED).call("dates")
    assert "s3cret" not in str(caught.value).lower()


def test_an_export_that_echoes_it(bench: Bench) -> None:
    file = {"url": "/f.csv", "name": f"{ECHOED}.csv"}
    bench.says(Say({"export_id": ECHOED, "status": ECHOED, "files": [file], ECHOED: 1}))
    job = bench.open(api_key=ECHOED).call("start_export", "2026-01-15")
    assert job.export_id == job.last_status.status_text == "***"
    assert ECHOED not in repr(job)
    assert ECHOED not in repr(job.last_status.files)


def test_a_request_id_of_a_refused_export_that_echoes_it(bench: Bench) -> None:
    bench.says(Say({"error": "no"}, headers={"X-Request-Id": f"r-{ECHOED}"}))
    with pytest.raises(errors.ExportFailed) as caught:
        bench.open(api_key=ECHOED).call("start_export", "2026-01-15")
    assert caught.value.request_id == "r-***"


def test_a_text_that_cannot_be_encoded(bench: Bench) -> None:
    """JSON may hold half a surrogate pair; a log or a terminal may not."""
    variant = bench.open()
    bench.says(Say({"error": "no \ud800 here"}, status=400))
    with pytest.raises(errors.InvalidRequest) as caught:
        variant.call("dates")
    assert r"no \ud800 here" in str(caught.value).encode().decode()
    assert caught.value.reason == r"no \ud800 here"
    bench.says(Say({"status": "failed", "error": "\ud800"}))
    with pytest.raises(errors.ExportFailed) as failed:
        variant.on(variant.call("start_export", "2026-01-15"), "wait")
    assert str(failed.value).encode()


SIGNED_PATH = "/f.csv?X-Sign=s1gnature&format=csv"


@pytest.mark.parametrize("before", ["", "https://files.example", "%2Ffiles?at="])
@pytest.mark.parametrize(
    "answer",
    [
        {"status": 400, "body": {"error": "no {}"}},
        {"status": 403, "body": {"error": "no {}"}, "headers": {"Retry-After": "1"}},
        {"status": 500, "body": {"message": "no", "details": [{"field": "{}", "message": "{}."}]}},
        {"body": {"error": "cannot serve {}"}},
        {"body": b"<Error><Code>Gone</Code><Message>{}</Message></Error>"},
        {"body": {"error": "no {}"}, "headers": {"Content-Type": "application/json"}},
        {"status": 401, "headers": {"X-Request-Id": "{}"}},
    ],
)
def test_an_error_that_echoes_a_signed_address(
    bench: Bench,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    before: str,
    answer: dict[str, Any],
) -> None:
    notes = Notes()
    address = f"{before}{SIGNED_PATH}"
    failing = Say(**{name: filled(value, address) for name, value in answer.items()})
    bench.says(
        bulk_export=[Say({"status": "done", "url": SIGNED_PATH, "format": "csv"})], f_csv=[failing]
    )
    with caplog.at_level(logging.DEBUG), pytest.raises(errors.AdAnalyticsError) as caught:
        bench.open(observer=notes).call("export", "2026-01-15", to=tmp_path / "out.csv")
    kept = f"{caught.value}{caught.value!r}{vars(caught.value)}{notes.told}{caplog.text}"
    assert "s1gnature" not in kept
    assert "***" in kept


def filled(value: Any, address: str) -> Any:
    """A part of an answer with an address wherever it has braces."""
    if isinstance(value, dict):
        return {name: filled(each, address) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each, address) for each in value]
    if isinstance(value, bytes):
        return value.replace(b"{}", address.encode())
    return value.replace("{}", address) if isinstance(value, str) else value


def test_words_beside_data_and_of_an_export_that_echo_a_signed_address(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    notes = Notes()
    bench.says(
        events=[Say({"events": [{}], "total": 1, "error": f"stale: {SIGNED_PATH}"})],
        dates=[Say({**DATES, "error": f"stale: {SIGNED_PATH}"})],
        bulk_export=[Say({"status": "failed", "error": f"not written to {SIGNED_PATH}"})],
    )
    variant = bench.open(observer=notes)
    assert variant.rows("2026-01-15", split="none", on_drift="warn") == [{}]
    assert "f.csv?format=csv&***" in caplog.text
    with pytest.raises(errors.ProtocolError) as refused:
        variant.call("dates")
    assert "f.csv?format=csv&***" in refused.value.message
    with pytest.raises(errors.ExportFailed) as caught:
        variant.on(variant.call("start_export", "2026-01-15"), "wait")
    assert "f.csv?format=csv&***" in caught.value.message
    assert "s1gnature" not in f"{refused.value!r}{caught.value!r}{notes.told}{caplog.text}"


@pytest.mark.parametrize(
    "spelling",
    [
        lambda key: quote(key, safe="").lower(),
        lambda key: quote(quote(key, safe="")),
        lambda key: key.replace("+", r"\u002B").replace("/", r"\/"),
        html.escape,
        lambda key: key.replace("+", "&#43;").replace('"', "&quot;"),
    ],
    ids=["lower case", "twice", "of JSON", "of HTML", "numbers of HTML"],
)
def test_a_credential_that_is_echoed_in_another_spelling(
    bench: Bench, spelling: Callable[[str], str]
) -> None:
    key = "s3cr+t/k<y=="
    notes = Notes()
    echoed = spelling(key)
    bench.says(
        Say(status=302, headers={"Location": f"/{quote(key, safe='').lower()}/dates"}),
        Say({"error": f"no {echoed}!"}, status=400, headers={"X-Request-Id": echoed}),
    )
    with pytest.raises(errors.InvalidRequest) as caught:
        bench.open(api_key=key, observer=notes).call("dates")
    assert caught.value.reason == "no ***!"
    assert caught.value.request_id == "***"
    assert "s3cr" not in f"{vars(caught.value)}{notes.told}"


def test_a_token_that_was_replaced_is_still_one(bench: Bench) -> None:
    """A slow request may still have been sent with it."""
    notes = Notes()
    tokens = [f"s3cret-{number}" for number in range(4)]
    logins, echo = iter(tokens), f"Bearer {tokens[0]}"

    def script(asked: Asked) -> Say:
        if asked.path.endswith("login"):
            return Say({"token": next(logins)})
        if asked.headers["authorization"] != f"Bearer {tokens[-1]}":
            return Say(status=401)
        return Say({"error": f"no {echo}"}, status=403, headers={"X-Request-Id": echo})

    bench.script = script
    variant = bench.open(email="a@b.example", password="pass-word-1", observer=notes)
    for _ in range(2):
        with pytest.raises(errors.AuthenticationError):
            variant.call("dates")
    with pytest.raises(errors.PermissionDenied) as caught:
        variant.call("dates")
    assert caught.value.reason == "no Bearer ***"
    assert caught.value.request_id == "Bearer ***"
    assert "s3cret" not in f"{vars(caught.value)}{notes.told}"


UNREADABLE = b'{"event_id":"aak_S3CRET-key","revenue":1e99999999999999999999}'
FIRST, SECOND = b'{"data":[%b]}' % UNREADABLE, b'{"data":[{},%b]}' % UNREADABLE


@pytest.mark.parametrize(
    ("way", "event", "columns"),
    [
        ("to_arrow", {"event_id": "e", ECHOED: 1}, ["absent"]),
        ("to_pandas", {"event_id": "e", ECHOED: 1}, ["absent"]),
        ("to_arrow_batches", {"event_id": "e", ECHOED: 1}, ["absent"]),
        ("k.parquet", {"event_id": "e", ECHOED: 1}, ["absent"]),
        ("k.arrow", {"event_id": "e", ECHOED: 1}, ["absent"]),
        ("k.csv", {"event_id": "e", ECHOED: 1}, ["absent"]),
        ("k.jsonl", {"event_id": "e", ECHOED: 1}, ["aak_S3CROT-key"]),
        ("k.csv", SECOND, None),
        ("rows", SECOND, None),
        ("rows", FIRST, None),
        ("pages", SECOND, None),
        ("events", SECOND, None),
    ],
)
def test_an_event_that_echoes_it(
    bench: Bench, tmp_path: Path, way: str, event: dict[str, Any] | bytes, columns: list[str] | None
) -> None:
    bench.says(Say(event if isinstance(event, bytes) else {"data": [event], "total": 1}))
    variant = bench.open(api_key=ECHOED)
    query = variant.client.events("2026-01-15", split="none")
    options = {} if columns is None else {"columns": columns}
    if way.startswith("k."):
        read = partial(variant.on, query, "write", tmp_path / way, **options)
    elif way in {"to_arrow", "to_pandas"}:
        read = partial(variant.on, query, way, **options)
    else:
        iterated = query if way == "events" else getattr(query, way)(**options)
        read = partial(variant.all_of, iterated)
    with pytest.raises(errors.AdAnalyticsError) as caught:
        read()
    assert "event" in str(caught.value)
    assert "S3CRE" not in shown(caught.value)


def shown(error: BaseException) -> str:
    """All that an error, those behind it and our own frames tell."""
    (home,) = adanalytics_client.__path__
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    frames = [each.locals for each in told.stack if each.filename.startswith(home)]
    behind = [shown(each) for each in (error.__cause__, error.__context__) if each is not None]
    return f"{error}{error!r}{error.args}{vars(error)}{frames}{behind}"


@pytest.mark.parametrize(
    "way", ["to_arrow", "to_pandas", "to_arrow_batches", "k.parquet", "events"]
)
def test_a_field_whose_name_echoes_it(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    """Its column becomes text, and no field is a documented one: both are logged by name."""
    rows = [{f"Bearer {ECHOED}": value} for value in (1, "x")]
    bench.says(Say({"data": rows, "meta": {"total": 2}}))
    variant = bench.open(api_key=ECHOED)
    query = variant.client.events("2026-01-15", split="none", check="none")
    if way.startswith("k."):
        variant.on(query, "write", tmp_path / way)
    elif way in {"to_arrow", "to_pandas"}:
        variant.on(query, way)
    else:
        variant.all_of(query if way == "events" else getattr(query, way)())
    assert "Bearer ***" in caplog.text
    assert ECHOED not in caplog.text


KEY = "aak_s3cret-key"
SIGNED = "/f.csv?X-Signature=s3cret-sign&format=csv"
DAY = "2026-01-15"
BASE = "https://stats.example"


def shown_locals(error: BaseException) -> str:
    """What an error report shows of our own frames; those of a test hold what they like."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    (home,) = adanalytics_client.__path__
    ours = [frame for frame in told.stack if frame.filename.startswith(home)]
    assert ours
    # Rich looks into values instead of asking for their repr.
    trace = Traceback.extract(
        type(error), error, error.__traceback__, show_locals=True, locals_max_string=1000
    )
    frames = [frame for stack in trace.stacks for frame in stack.frames]
    in_rich = [
        f"{frame.name} {name}={node}"
        for frame in frames
        if frame.filename.startswith(home)
        for name, node in (frame.locals or {}).items()
    ]
    assert in_rich
    return "\n".join([*(f"{frame.name} {frame.locals}" for frame in ours), *in_rich])


@pytest.mark.parametrize("refusal", [{"status": 500}, {"hang_up": True}, {"status": 404}])
@pytest.mark.parametrize("name", ["url", "status_url"])
def test_no_frame_of_an_export_shows_a_signature(
    bench: Bench, tmp_path: Path, name: str, refusal: dict[str, Any]
) -> None:
    word = "done" if name == "url" else "running"
    bench.says(
        bulk_export=[Say({"status": word, name: f"{bench.url}{SIGNED}"})],
        f_csv=[Say(status=302, headers={"Location": f"{SIGNED}&more=1"}), Say(**refusal)],
    )
    with pytest.raises(errors.AdAnalyticsError) as caught:
        bench.open(api_key=KEY).call("export", "2026-01-15", to=tmp_path / "out.csv")
    shown = shown_locals(caught.value)
    assert "f.csv?format=csv&***" in shown
    assert "s3cret" not in shown


def test_no_frame_of_an_error_amid_a_file_shows_its_signature(bench: Bench, tmp_path: Path) -> None:
    """A full disk, for one, is an error of neither ours nor httpx's."""

    class Full(Observer):
        def bytes(self, info: BytesReceived) -> None:
            raise OSError(28, f"No space left on device for byte {info.received}")

    bench.says(bulk_export=[Say({"status": "done", "url": SIGNED})], f_csv=[Say(b"a,b\r\n")])
    with pytest.raises(OSError, match="No space left") as caught:
        bench.open(api_key=KEY, observer=Full()).call("export", "2026-01-15", to=tmp_path / "x.csv")
    assert "s3cret" not in shown_locals(caught.value)


def test_no_frame_shows_an_answer_that_echoes_the_credential(bench: Bench) -> None:
    bench.says(Say({"error": None, "echo": KEY, "days": [KEY]}))
    for name, arguments in {"dates": [], "summary": ["2026-01-15"]}.items():
        with pytest.raises(errors.ProtocolError) as caught:
            bench.open(api_key=KEY).call(name, *arguments)
        assert "s3cret" not in shown_locals(caught.value)


def test_no_frame_of_a_pull_shows_an_event(bench: Bench, tmp_path: Path) -> None:
    event = {"event_id": "s3cret-event", "event_time": "2026-01-15T00:00:00Z"}
    bench.says(Say({"events": [event], "total": 2}))
    variant = bench.open(api_key=KEY)
    query = variant.client.events("2026-01-15", split="none", per_page=1)
    with pytest.raises(errors.ProtocolError, match="are the same") as caught:
        variant.on(query, "write", tmp_path / "day.jsonl")
    assert "s3cret" not in shown_locals(caught.value)


@pytest.mark.parametrize("echo", [SIGNED, KEY])
@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"Content-Type": "application/json"}, "cannot serve"),
        ({}, "does not begin like a csv file"),
    ],
)
def test_no_frame_shows_an_answer_in_place_of_a_file(
    bench: Bench, tmp_path: Path, echo: str, headers: dict[str, str], message: str
) -> None:
    bench.says(
        bulk_export=[Say({"status": "done", "url": SIGNED, "format": "csv"})],
        f_csv=[Say({"error": f"cannot serve {echo}"}, headers=headers)],
    )
    with pytest.raises(errors.DownloadError, match=message) as caught:
        bench.open(api_key=KEY).call("export", "2026-01-15", to=tmp_path / "out.csv")
    assert "s3cret" not in shown_locals(caught.value)


@pytest.mark.parametrize("way", ["direct", "proxy", "http="])
def test_no_frame_of_an_interrupted_wait_shows_a_secret(
    bench: Bench,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    """Neither ours nor those of httpx, which all hold the request until its answer comes."""
    held = threading.Event()
    options: dict[str, Any] = {}
    if way == "proxy":
        monkeypatch.setenv("HTTP_PROXY", bench.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        options["base_url"] = "http://stats.example"
    elif way == "http=":
        asynchronous = request.node.callspec.params["open_variant"] == "async"
        options["http"] = httpx.AsyncClient() if asynchronous else httpx.Client()
    variant = bench.open(api_key=KEY, **options)
    tasks: list[asyncio.Task[Any]] = []

    def interrupting(asked: Asked) -> Say:
        if asked.path != "/f.csv":
            return Say({"status": "done", "url": SIGNED})
        if tasks:
            tasks[0].get_loop().call_soon_threadsafe(tasks[0].cancel)
        else:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return Say(gate=held)

    async def with_tasks() -> None:
        tasks.append(
            asyncio.create_task(variant.client.export("2026-01-15", to=tmp_path / "o.csv"))
        )
        await tasks[0]

    def with_threads() -> None:
        variant.client.export("2026-01-15", to=tmp_path / "o.csv")

    bench.script = interrupting
    work = with_threads if isinstance(variant.client, Client) else with_tasks
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)) as caught:
        variant.on(SimpleNamespace(work=work), "work")
    held.set()
    if "http" in options:
        variant.on(
            options["http"], "close" if isinstance(options["http"], httpx.Client) else "aclose"
        )
    told = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    shown = [f"{each.name} {each.locals}" for each in told.stack if __file__ != each.filename]
    assert any(each.startswith("_send ") for each in shown)
    assert [each for each in shown if "s3cret" in each] == []


@pytest.mark.parametrize("name", ["url", "status_url"])
@pytest.mark.parametrize("path", ["/f\ud800.csv", "/f.csv?a=\udfff"])
def test_an_address_that_no_request_can_hold_is_none(
    bench: Bench, tmp_path: Path, name: str, path: str
) -> None:
    bench.says(Say({"status": "done", name: path}))
    with pytest.raises(errors.ProtocolError, match="names no file") as caught:
        bench.open(api_key=KEY).call("export", "2026-01-15", to=tmp_path / "out.csv")
    assert "s3cret" not in shown_locals(caught.value)


@pytest.mark.parametrize("location", [f"ftp://s3cret-sign@x{SIGNED}", f"http://[{SIGNED}"])
def test_no_frame_shows_where_a_bad_redirect_leads(bench: Bench, location: str) -> None:
    bench.says(Say(status=302, headers={"Location": location}))
    with pytest.raises(errors.ProtocolError) as caught:
        bench.open(api_key=KEY).call("dates")
    assert "s3cret" not in shown_locals(caught.value)


def test_a_part_of_an_address_is_shown_no_more_than_the_whole() -> None:
    """Rich cuts a long text before it shows it."""
    address = Address(f"{BASE}{SIGNED}{'x' * 100}")
    assert repr(address[:40]) == repr(f"{BASE}/f.csv?***")
    assert str(address[:40]) == f"{BASE}/f.csv?X-Signature="


WRONG: list[dict[str, Any]] = [
    {"base_url": "stats.example"},
    {"api_key": f"{KEY}\nx"},
    {"api_key": KEY.encode()},
    {"token": "s3cret-token"},
    {"api_key": None, "password": "s3cret-word"},
    {"quota": 1000},
    {"observer": Client},
    {"http": "no client"},
]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("wrong", WRONG, ids=[" ".join(each) for each in WRONG])
def test_no_frame_of_making_a_client_shows_a_secret(
    kind: Callable[..., object], wrong: dict[str, Any]
) -> None:
    with pytest.raises(errors.ConfigurationError) as caught:
        kind(**{"base_url": BASE, "api_key": KEY, **wrong})
    assert "s3cret" not in shown_locals(caught.value)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    "variables",
    [
        {"ADANALYTICS_API_KEY": KEY},
        {"ADANALYTICS_API_KEY": KEY, "ADANALYTICS_BASE_URL": "stats.example"},
        {"ADANALYTICS_PASSWORD": "s3cret-word", "ADANALYTICS_BASE_URL": BASE},
    ],
    ids=["no address", "wrong address", "half an account"],
)
def test_no_frame_of_reading_the_environment_shows_a_secret(
    kind: type[Client | AsyncClient], variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for given in (None, variables):
        with pytest.raises(errors.ConfigurationError) as caught:
            kind.from_env(given)
        assert "s3cret" not in shown_locals(caught.value)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_no_frame_of_reading_a_profile_shows_a_secret(
    kind: type[Client | AsyncClient], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    store_login(BASE, KEY)
    with pytest.raises(errors.ConfigurationError) as caught:
        kind.from_profile(timeout=-1)
    assert "s3cret" not in shown_locals(caught.value)


@pytest.mark.parametrize("answer", [{"token": "s3cret\ntoken"}, {"access_token": "s3cret"}, []])
def test_no_frame_of_a_login_shows_a_secret(bench: Bench, answer: Any) -> None:
    bench.says(Say(answer))
    with pytest.raises(errors.ProtocolError) as caught:
        bench.open(email="a@b.example", password="s3cret-word").call("dates")
    assert "s3cret" not in shown_locals(caught.value)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_that_was_not_made_has_a_repr(kind: type[Client | AsyncClient]) -> None:
    assert repr(kind.__new__(kind)) == f"{kind.__name__}()"


ETAG = {"ETag": '"1"'}


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
