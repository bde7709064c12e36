"""What an observer sees and raises, and the spans of OpenTelemetry, without a secret."""

import asyncio
import gzip
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tests.client.bench import Bench
from tests.client.notes import Notes
from tests.client.stand_in import Say
from tests.client.variants import Variant

from adanalytics_client import AsyncClient, Client, Observer, errors
from adanalytics_client.observers import BytesReceived
from adanalytics_client.otel import TracingObserver
from adanalytics_server.local import LocalServer

DAY = "2026-01-15"
DATES = {"dates": [DAY]}
ENDS = [StopIteration("mine"), StopAsyncIteration("mine")]


def raising(method: str, error: Exception) -> Observer:
    """An observer of which one method raises, as `next()` on something empty does."""

    def fail(_self: Observer, _info: object) -> None:
        raise error

    made: Observer = type("Raising", (Observer,), {method: fail})()
    return made


def test_a_method_of_one_observer_is_called(bench: Bench) -> None:
    """A request that nobody watches has no report; this one is watched without a class."""
    bench.says(Say(DATES))
    statuses: list[int | None] = []
    observer = Observer()
    setattr(observer, "request", lambda info: statuses.append(info.status))  # noqa: B010  # typed
    bench.open(observer=observer).call("dates")
    assert statuses == [200]


@pytest.mark.parametrize("error", ENDS, ids=["sync end", "async end"])
@pytest.mark.parametrize("method", ["due", "request", "retry", "wait", "page", "drift", "bytes"])
def test_the_end_of_an_iterator_is_no_end_of_the_work(
    bench: Bench, tmp_path: Path, method: str, error: Exception
) -> None:
    page = {"events": [{"event_id": "a"}], "pagination": {"has_more": True}}
    last = {"events": [{"event_id": "a"}, {"event_id": "b"}], "pagination": {"has_more": False}}
    bench.says(
        dates=[Say(status=503), Say(status=429), Say(DATES)],
        events=[Say(page), Say(last)],
        bulk_export=[Say({"status": "done", "url": "/f.csv"})],
        f_csv=[Say(b"a\r\n")],
    )
    variant = bench.open(observer=raising(method, error))
    works: list[Callable[[Variant], object]] = [
        lambda variant: variant.call("dates"),
        lambda variant: variant.rows(DAY, hour=3),
        lambda variant: variant.call("export", DAY, to=tmp_path / "out.csv"),
    ]
    work = {"page": works[1], "drift": works[1], "bytes": works[2]}.get(method, works[0])
    with pytest.raises(RuntimeError, match="The observer raised Stop") as caught:
        work(variant)
    assert caught.value.__cause__ is error


def test_any_other_error_comes_as_it_is(bench: Bench) -> None:
    bench.says(Say(DATES))
    with pytest.raises(LookupError, match="mine"):
        bench.open(observer=raising("due", LookupError("mine"))).call("dates")


def test_an_error_of_httpx_is_no_trouble_of_the_service(bench: Bench, tmp_path: Path) -> None:
    """An observer may send what it is told to somewhere, by httpx, too."""
    bench.says(bulk_export=[Say({"status": "done", "url": "/f.csv"})], f_csv=[Say(b"a\r\n")])
    cause = OSError("cause")
    theirs = httpx.ConnectError("metrics are down")
    theirs.__cause__ = cause
    variant = bench.open(observer=raising("bytes", theirs))
    with pytest.raises(httpx.ConnectError) as caught:
        variant.call("export", DAY, to=tmp_path / "out.csv")
    assert caught.value is theirs
    assert (theirs.__cause__, theirs.__context__) == (cause, None)
    assert len(bench.asked) == 2


@pytest.mark.parametrize(
    ("announced", "packed", "expected"),
    [({"size_bytes": 3000}, False, 3000), ({}, False, None), ({"size_bytes": 3000}, True, None)],
    ids=["announced", "not announced", "announced of what is packed"],
)
def test_the_size_announced_is_expected_of_a_body_without_a_length(
    bench: Bench, tmp_path: Path, announced: dict[str, int], *, packed: bool, expected: int | None
) -> None:
    content, notes = b"a,b\r\n" + b"1,2\r\n" * 599, Notes()
    headers = {"Content-Type": "text/csv"} | ({"Content-Encoding": "gzip"} if packed else {})
    body = gzip.compress(content) if packed else content
    bench.says(
        bulk_export=[Say({"status": "done", "url": "/f.csv", **announced})],
        f_csv=[Say(body, headers=headers, chunked=True)],
    )
    variant = bench.open(observer=notes)
    variant.call("export", DAY, to=tmp_path / "out.csv", check="none")
    told = notes.of(BytesReceived)
    assert {info.expected for info in told} == {expected}
    assert told[-1].received == len(body)


class Traces:
    """A tracer provider that keeps its spans in memory."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracer = self.provider.get_tracer("test")

    def observer(self) -> TracingObserver:
        return TracingObserver(self.provider)

    def all(self) -> list[ReadableSpan]:
        return list(self._kept.get_finished_spans())

    def requests(self) -> list[ReadableSpan]:
        return [each for each in self.all() if each.kind is SpanKind.CLIENT]


@pytest.fixture
def traces() -> Traces:
    return Traces()


def facts(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_request_becomes_a_span_of_the_conventions(bench: Bench, traces: Traces) -> None:
    bench.says(Say({"summary": []}, headers={"X-Request-Id": "r-1"}))
    bench.open(observer=traces.observer()).call("summary", "2026-01-15")
    (span,) = traces.requests()
    port = int(bench.url.rpartition(":")[2])
    path = "/api/partners/acme/ad-analytics/summary?start_date=2026-01-15&end_date=2026-01-15"
    assert (span.name, span.status.status_code) == ("GET", StatusCode.UNSET)
    assert facts(span) == {
        "http.request.method": "GET",
        "url.full": bench.url + path,
        "server.address": "127.0.0.1",
        "server.port": port,
        "http.response.status_code": 200,
        "http.response.header.x-request-id": ("r-1",),
    }
    assert (span.start_time or 0) <= (span.end_time or 0)


def test_repeats_count_and_failures_have_a_type(bench: Bench, traces: Traces) -> None:
    bench.says(Say(status=503), Say(hang_up=True), Say(DATES))
    with traces.tracer.start_as_current_span("work"):
        bench.open(observer=traces.observer()).call("dates")
    first, second, third = map(facts, traces.requests())
    assert (first["error.type"], second["error.type"]) == ("503", "broken")
    assert "http.response.status_code" not in second
    assert "error.type" not in third
    assert (second["http.request.resend_count"], third["http.request.resend_count"]) == (1, 2)
    states = [each.status.status_code for each in traces.requests()]
    assert states == [StatusCode.ERROR, StatusCode.ERROR, StatusCode.UNSET]


def test_no_secret_is_in_a_span(bench: Bench, traces: Traces, tmp_path: Path) -> None:
    bench.says(
        login=[Say({"token": "tok-s3cret"})],
        bulk_export=[
            Say({"error": "no tok-s3cret"}, status=429, headers={"Retry-After": "1"}),
            Say({"url": "/f.csv?signature=s3cret&format=csv"}),
        ],
        f_csv=[Say(status=503), Say(b"a,b\r\n")],
    )
    variant = bench.open(observer=traces.observer(), email="a@b.example", password="pass-s3cret")
    with traces.tracer.start_as_current_span("work"):
        variant.call("export", "2026-01-15", to=tmp_path / "out.csv")
    told = "".join(each.to_json() for each in traces.all())
    assert "s3cret" not in told
    assert "f.csv?format=csv&***" in told


@pytest.fixture
def parents(traces: Traces) -> Any:
    """For each span of work, the hours that were asked for below it."""

    def look() -> dict[str, set[str]]:
        names = {each.context.span_id: each.name for each in traces.all() if each.context}
        found: dict[str, set[str]] = {}
        for span in traces.requests():
            assert span.parent is not None
            hour = facts(span)["url.full"].partition("&hour=")[2].partition("&")[0]
            found.setdefault(names[span.parent.span_id], set()).add(hour)
        return found

    return look


def test_requests_on_threads_belong_to_the_work_that_asked(
    traces: Traces, reference: LocalServer, parents: Any
) -> None:
    """Two pulls at the same time on one client, each on threads of its own."""
    barrier = threading.Barrier(2)
    options: dict[str, Any] = {"api_key": reference.api_key, "partner": "acme"}

    def pull(client: Client, day: str) -> None:
        with traces.tracer.start_as_current_span(day):
            barrier.wait(10)
            assert len(list(client.events(day))) == 1500

    with Client(reference.url, observer=traces.observer(), **options) as client:
        threads = [
            threading.Thread(target=pull, args=(client, day))
            for day in ("2026-01-15", "2026-01-16")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    hours = {str(hour) for hour in range(24)}
    assert parents() == {"2026-01-15": hours, "2026-01-16": hours}


def test_requests_of_tasks_belong_to_the_work_that_asked(
    traces: Traces, reference: LocalServer, parents: Any
) -> None:
    async def main() -> None:
        options: dict[str, Any] = {"api_key": reference.api_key, "partner": "acme"}
        async with AsyncClient(reference.url, observer=traces.observer(), **options) as client:

            async def pull(day: str) -> None:
                with traces.tracer.start_as_current_span(day):
                    assert len([each async for each in client.events(day)]) == 1500

            await asyncio.gather(pull("2026-01-15"), pull("2026-01-16"))

    asyncio.run(main())
    hours = {str(hour) for hour in range(24)}
    assert parents() == {"2026-01-15": hours, "2026-01-16": hours}


def test_waits_and_repeats_are_events_of_the_work(bench: Bench, traces: Traces) -> None:
    bench.says(Say(status=429, headers={"Retry-After": "7"}), Say(status=503), Say(DATES))
    with traces.tracer.start_as_current_span("work"):
        bench.open(observer=traces.observer()).call("dates")
    work = next(each for each in traces.all() if each.name == "work")
    told = [(each.name, dict(each.attributes or {})["adanalytics.seconds"]) for each in work.events]
    assert told == [("adanalytics.wait", 7.0), ("adanalytics.retry", 1.0)]


def test_without_a_parent_waits_and_repeats_are_spans_of_their_own(
    bench: Bench, traces: Traces
) -> None:
    bench.says(Say(status=429, headers={"Retry-After": "7"}), Say(status=503), Say(DATES))
    bench.open(observer=traces.observer()).call("dates")
    told = [
        (each.name, facts(each)["adanalytics.seconds"])
        for each in traces.all()
        if each.kind is SpanKind.INTERNAL
    ]
    assert told == [("adanalytics.wait", 7.0), ("adanalytics.retry", 1.0)]


def test_a_missing_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from adanalytics_client.otel import TracingObserver\n"
        "try: TracingObserver()\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(errors.ConfigurationError.__name__)
    assert "adanalytics[otel]" in done.stdout
