"""Error reports hold the local variables of each frame; ours tell neither key nor signature."""

import asyncio
import signal
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from rich.traceback import Traceback
from tests.client.bench import Bench
from tests.client.stand_in import Asked, Say
from tests.stored_login import store_login

import adanalytics_client
from adanalytics_client import AsyncClient, Client, Observer, errors
from adanalytics_client._base.urls import Address
from adanalytics_client.observers import BytesReceived

KEY = "aak_s3cret-key"
SIGNED = "/f.csv?X-Signature=s3cret-sign&format=csv"
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
