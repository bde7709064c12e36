"""Leaving early: nothing goes on behind the user's back, and nothing of it stays."""

import asyncio
import gc
import json
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import aclosing, closing, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.client.notes import Notes
from tests.client.stand_in import Asked, Say, StandIn

from adanalytics_client import (
    AdAnalyticsError,
    AsyncClient,
    Client,
    ConfigurationError,
    Observer,
    QuotaPolicy,
    RetryPolicy,
    TransportError,
)
from adanalytics_client._events.fanout import Job, PageFanout
from adanalytics_client._io.async_driver import in_thread
from adanalytics_client._io.stop import Stop
from adanalytics_client.observers import RequestSent, RetryPlanned, WaitStarted
from adanalytics_client.testing import reference_client
from adanalytics_server.local import LocalServer

DAY = "2026-01-15"


def ours() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "adanalytics"]


@contextmanager
def no_thread_left() -> Iterator[None]:
    yield
    for thread in ours():
        thread.join(5)
    assert ours() == []


@pytest.fixture
def many_pages(stand_in: StandIn) -> StandIn:
    def script(asked: Asked) -> Say:
        page = asked.query["page"]
        return Say({"events": [{"event_id": f"{asked.query.get('hour')}-{page}"}], "more": True})

    stand_in.script = script
    return stand_in


def test_break_ends_the_threads(many_pages: StandIn) -> None:
    with no_thread_left(), Client(many_pages.url, api_key="k", partner="acme") as client:
        for _event in client.events(DAY, concurrency=4):
            break
    assert len(many_pages.asked) <= 12


def test_an_exception_in_the_loop_ends_the_threads(many_pages: StandIn) -> None:
    def fail() -> None:
        with Client(many_pages.url, api_key="k", partner="acme") as client:
            for _event in client.events(DAY):
                raise ZeroDivisionError

    with no_thread_left(), pytest.raises(ZeroDivisionError):
        fail()


def test_break_ends_requests_that_nobody_answers(stand_in: StandIn) -> None:
    """The client stays open and goes on, over other connections."""
    gate, held = threading.Event(), threading.Semaphore(0)

    def script(asked: Asked) -> Say:
        hour = asked.query.get("hour")
        if hour is None:
            return Say({"dates": ["2026-01-15"]})
        page = {"events": [{"event_id": f"e-{hour}"}], "total": 1, "more": False}
        if hour in {"0", "1", "2"}:
            return Say(page)
        held.release()
        return Say(page, gate=gate)

    stand_in.script = script
    options: dict[str, Any] = {"api_key": "k", "partner": "acme", "retry": RetryPolicy(attempts=1)}
    told = Notes()
    with Client(stand_in.url, **options, observer=told) as client:
        try:
            with no_thread_left(), closing(client.events(DAY, concurrency=4).pages()) as pages:
                assert [len(next(pages)) for _ in range(3)] == [1] * 3
                for _ in range(3):
                    assert held.acquire(timeout=10)
            assert client.dates() == [date(2026, 1, 15)]
        finally:
            gate.set()
    assert told.of(RetryPlanned) == []
    assert {each.status for each in told.of(RequestSent)} == {200}


def test_memory_is_bounded_by_what_may_wait(many_pages: StandIn) -> None:
    """A consumer that takes ten pages and stops leaves at most the bound asked for."""
    with (
        Client(many_pages.url, api_key="k", partner="acme") as client,
        closing(client.events(DAY, concurrency=3).pages()) as pages,
    ):
        for _ in range(10):
            next(pages)
        assert len(many_pages.asked) <= 10 + 3 * 2


def test_closing_the_client_ends_a_wait(stand_in: StandIn) -> None:
    """Real time: only the close, not the hour, ends the wait."""
    stand_in.says(Say({"error": "later"}, status=429, headers={"Retry-After": "3000"}))
    waiting = threading.Event()

    class Watch(Observer):
        def wait(self, info: WaitStarted) -> None:
            assert info.seconds == 3000
            waiting.set()

    client = Client(stand_in.url, api_key="k", partner="acme", observer=Watch())
    caught: list[BaseException] = []

    def call() -> None:
        try:
            client.dates()
        except TransportError as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert waiting.wait(10)
    client.close()
    thread.join(10)
    assert not thread.is_alive()
    assert len(caught) == 1


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="a signal for one thread is POSIX")
def test_a_signal_ends_a_read_that_it_did_not_interrupt(stand_in: StandIn) -> None:
    """As when it comes just before the read: here another thread receives it."""
    held = threading.Event()

    def interrupting(_: Asked) -> Say:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        return Say({"dates": []}, gate=held)

    stand_in.script = interrupting
    too_late = threading.Timer(20, held.set)
    too_late.start()
    try:
        with (
            Client(stand_in.url, api_key="k", partner="acme") as client,
            pytest.raises(KeyboardInterrupt),
        ):
            client.dates()
        assert not held.is_set()
    finally:
        too_late.cancel()
        held.set()


def test_break_ends_the_tasks(many_pages: StandIn) -> None:
    async def main() -> int:
        async with AsyncClient(many_pages.url, api_key="k", partner="acme") as client:
            async with aclosing(client.events(DAY).pages()) as pages:
                async for _page in pages:
                    break
            return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1


def test_cancelling_a_pull_ends_the_tasks(stand_in: StandIn) -> None:
    gate = threading.Event()
    stand_in.says(Say({"events": []}, gate=gate))

    async def main() -> int:
        async with AsyncClient(stand_in.url, api_key="k", partner="acme") as client:
            rows = client.events(DAY).rows()
            task = asyncio.ensure_future(anext(rows))
            assert await asyncio.to_thread(stand_in.reached.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return len(asyncio.all_tasks())

    try:
        assert asyncio.run(main()) == 1
    finally:
        gate.set()


@pytest.mark.parametrize("steps", range(1, 6))
def test_cancelling_a_write_leaves_no_file(stand_in: StandIn, tmp_path: Path, steps: int) -> None:
    """However early it is cancelled: also while the file is being made."""
    gate = threading.Event()
    stand_in.says(Say({"events": []}, gate=gate))

    async def main() -> None:
        async with AsyncClient(stand_in.url, api_key="k", partner="acme") as client:
            task = asyncio.ensure_future(client.events(DAY).write(tmp_path / "x.jsonl"))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    try:
        asyncio.run(main())
    finally:
        gate.set()
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_login_does_not_block_the_next(stand_in: StandIn) -> None:
    gate = threading.Event()
    stand_in.says(Say(gate=gate), Say({"token": "t"}), Say({"dates": []}))

    async def main() -> list[object]:
        async with AsyncClient(
            stand_in.url, email="a@b", password="p", partner="acme", retry=RetryPolicy(attempts=1)
        ) as client:
            first = asyncio.ensure_future(client.dates())
            assert await asyncio.to_thread(stand_in.reached.wait, 10)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            gate.set()
            return list(await client.dates())

    assert asyncio.run(main()) == []


def test_closing_the_client_before_a_thread_takes_its_page_up(
    many_pages: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is answered all the same, or whoever waits for it would do so for good."""
    client = Client(many_pages.url, api_key="k", partner="acme")
    caught: list[BaseException] = []
    start = PageFanout.start

    def start_and_close(fanout: PageFanout) -> Job | None:
        cursor = start(fanout)
        client.close()
        return cursor

    monkeypatch.setattr(PageFanout, "start", start_and_close)

    def read() -> None:
        try:
            list(client.events(DAY).rows())
        except AdAnalyticsError as error:
            caught.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(10)
    assert len(caught) == 1


def test_closing_the_client_before_a_task_takes_its_page_up(many_pages: StandIn) -> None:
    """A task that is cancelled before its first step answers, too."""

    async def main() -> tuple[object, object]:
        client = AsyncClient(many_pages.url, api_key="k", partner="acme")

        async def read() -> None:
            async for _row in client.events(DAY).rows():
                pass

        pulled = asyncio.ensure_future(read())
        # It makes its tasks in this turn of the loop, and the client is closed before the next.
        closed = asyncio.ensure_future(client.close())
        async with asyncio.timeout(10):
            return await asyncio.gather(pulled, closed, return_exceptions=True)

    pulled, closed = asyncio.run(main())
    assert isinstance(pulled, TransportError)
    assert closed is None
    assert many_pages.asked == []


def test_a_client_of_another_event_loop_says_so(stand_in: StandIn) -> None:
    """As when `asyncio.run` is called twice; its connections ended with the first."""
    stand_in.says(Say({"dates": ["2026-01-15"]}))
    client = AsyncClient(stand_in.url, api_key="k", partner="acme", quota=QuotaPolicy(log="memory"))

    async def ask() -> None:
        await client.dates()

    async def ask_and_close() -> None:
        try:
            await client.dates()
        finally:
            await client.close()

    with asyncio.Runner() as first, asyncio.Runner() as second:
        first.run(ask())
        with pytest.raises(ConfigurationError, match="another event loop"):
            second.run(ask())
        first.run(ask_and_close())
    assert len(stand_in.asked) == 2


def test_closing_where_the_loop_has_ended_says_so(stand_in: StandIn) -> None:
    stand_in.says(Say({"dates": ["2026-01-15"]}))
    client = AsyncClient(stand_in.url, api_key="k", partner="acme", quota=QuotaPolicy(log="memory"))
    # Not the loop of whoever set the policy: uvloop closes connections with itself, and waits for
    # ever where its warning of that is an error.
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as first:
        first.run(client.dates())
    with asyncio.Runner() as second, pytest.raises(ConfigurationError, match="Close it there"):
        second.run(client.close())
    # Its connection can only be collected, which is told of wherever that happens.
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        del client
        gc.collect()


@pytest.mark.parametrize("waiting", ["for leave", "for an answer", "for a login"])
def test_closing_the_client_of_tasks_ends_its_calls(stand_in: StandIn, waiting: str) -> None:
    """With the error that threads get; a task that somebody cancels is cancelled as ever."""
    gate, paused = threading.Event(), asyncio.Event()
    limited = Say({"error": "later"}, status=429, headers={"Retry-After": "3000"})
    stand_in.says(limited if waiting == "for leave" else Say({"dates": []}, gate=gate))
    credential: dict[str, Any] = {"api_key": "k"}
    if waiting == "for a login":
        credential = {"email": "a@b", "password": "p"}

    class Watch(Observer):
        def wait(self, info: WaitStarted) -> None:
            assert info.seconds == 3000
            paused.set()

    async def main() -> list[object]:
        client = AsyncClient(stand_in.url, partner="acme", observer=Watch(), **credential)
        # Only one is sent: a connection that is just being made is not always closed by anyio.
        calls = [asyncio.ensure_future(client.dates()) for _ in range(2)]
        calls[1].cancel()
        if waiting == "for leave":
            await paused.wait()
        else:
            assert await asyncio.to_thread(stand_in.reached.wait, 10)
        await client.close()
        async with asyncio.timeout(10):
            return list(await asyncio.gather(*calls, return_exceptions=True))

    try:
        ended, cancelled = asyncio.run(main())
    finally:
        gate.set()
    assert type(ended) is TransportError
    assert "was cancelled" in str(ended)
    assert isinstance(cancelled, asyncio.CancelledError)


def test_a_handler_of_a_signal_may_stop_what_its_thread_is_at() -> None:
    """The handler runs in the thread that it interrupts, wherever that is."""
    stop, done = Stop(), threading.Event()

    class Interrupted(socket.socket):
        def __hash__(self) -> int:
            stop.set()
            return id(self)

    def hold() -> None:
        with Interrupted() as opened, stop.ends(opened):
            pass
        done.set()

    threading.Thread(target=hold, daemon=True).start()
    assert done.wait(10)


def test_a_stop_just_before_a_wait_ends_it_too() -> None:
    """Between the check for a stop and the read another thread may set it."""
    stop = Stop()
    stop.set()
    here, there = socket.socketpair()
    there.setblocking(False)
    with here, there, stop.ends(here):
        assert there.recv(1) == b""


def test_a_stop_lets_the_service_drop_the_rest_of_its_response() -> None:
    """Also if the response has filled all buffers, so that nothing more may be sent."""
    stop = Stop()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        reader = socket.create_connection(listener.getsockname())
        service, _ = listener.accept()
    with service, reader:
        service.settimeout(0.2)
        with pytest.raises(TimeoutError):
            service.sendall(bytes(2**26))
        with stop.ends(reader):
            stop.set()
        while reader.recv(2**18):
            pass
        reader.close()
        service.settimeout(5)
        with pytest.raises(ConnectionError):
            service.sendall(bytes(2**26))


SCRIPT = Path(__file__).parent / "leak_scenario.py"


@pytest.fixture
def slow(stand_in: StandIn) -> Iterator[StandIn]:
    """Of the events only the first page is answered; all others hang until the test is over."""
    gate = threading.Event()

    def script(asked: Asked) -> Say:
        if asked.path.endswith("/dates"):
            return Say({"dates": []})
        first = (asked.query.get("hour"), asked.query["page"]) == ("0", "1")
        return Say({"events": [{"event_id": "e"}], "has_more": False}, gate=None if first else gate)

    stand_in.script = script
    yield stand_in
    gate.set()


@pytest.mark.parametrize(
    ("variant", "way"),
    [
        *(("sync", way) for way in ("break", "exception", "interrupt", "waiting")),
        *(("async", way) for way in ("break", "exception", "interrupt", "waiting", "cancel")),
    ],
)
def test_nothing_is_left(slow: StandIn, variant: str, way: str) -> None:
    command = [sys.executable, str(SCRIPT), slow.url, variant, way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "pulling\n"
        if way in {"interrupt", "waiting"}:
            process.send_signal(signal.SIGINT)
        left = json.loads(process.stdout.readline())
    assert left == {"threads": [], "tasks": 0, "sockets": 0}


@pytest.mark.parametrize("cancellations", [1, 3])
def test_a_cancelled_task_waits_for_its_thread(cancellations: int) -> None:
    begun, end, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert end.wait(10)
        ended.set()
        raise ValueError("nobody is there any more")

    async def main() -> list[dict[str, Any]]:
        untold: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: untold.append(told))
        task = asyncio.create_task(in_thread(work))
        assert await asyncio.to_thread(begun.wait, 10)
        for _ in range(cancellations):
            task.cancel()
            # Its own step and the one of what it waits for.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not task.done()
        end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()
        return untold

    assert asyncio.run(main()) == []


def test_the_end_of_a_loop_waits_for_it_too() -> None:
    """asyncio.run cancels what is left, and cleans up after it."""
    begun, end, ended = threading.Event(), threading.Event(), threading.Event()
    seen: list[bool] = []

    def work() -> None:
        begun.set()
        assert end.wait(10)
        ended.set()

    async def worker() -> None:
        try:
            await in_thread(work)
        finally:
            seen.append(ended.is_set())

    async def cancelled_too() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            end.set()

    async def main() -> None:
        tasks = [asyncio.create_task(each) for each in (worker(), cancelled_too())]
        assert await asyncio.to_thread(begun.wait, 10)
        assert not any(each.done() for each in tasks)

    asyncio.run(main())
    assert seen == [True]


def test_what_it_returns_and_raises() -> None:
    async def main() -> None:
        assert await in_thread(lambda: 5) == 5
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 // 0)

    asyncio.run(main())


def test_a_reference_server_that_was_cancelled_while_it_started_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    before = set(threading.enumerate())
    servers: list[LocalServer] = []
    enter = LocalServer.__enter__

    def slowly(server: LocalServer) -> LocalServer:
        begun.set()
        assert go_on.wait(10)
        servers.append(enter(server))
        return servers[0]

    monkeypatch.setattr(LocalServer, "__enter__", slowly)

    async def use() -> None:
        async with reference_client(events_per_day=10):
            raise AssertionError("it was cancelled before")

    async def main() -> None:
        task = asyncio.create_task(use())
        assert await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert servers
    assert not servers[0].settings.data.exists()
    # The server's own workers end a moment after it.
    for thread in set(threading.enumerate()) - before:
        thread.join(20)
        assert not thread.is_alive()
