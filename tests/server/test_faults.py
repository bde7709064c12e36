"""Faults: every sentence of the text form, and what a client sees of each over the wire."""

import gzip
import re
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from adanalytics_server.clock import Clock
from adanalytics_server.faults import EFFECTS, Entry, Fault, FaultError, Faults, parse_fault
from adanalytics_server.faults.layer import MOST_REQUESTS
from adanalytics_server.local import LocalServer, Sample

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "test-controls.md"


def status(code: int, **fields: Any) -> Fault:
    return Fault(effect="status", status=code, **fields)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("503", status(503)),
        ("503 always", status(503)),
        ("503 once", status(503, times=1)),
        ("503 once per hour", status(503, times=1, per="hour")),
        ("503 Twice PER request", status(503, times=2, per="request")),
        ("429 twice", status(429, times=2)),
        ("429 retry-after 5 3 times", status(429, retry_after="5", times=3)),
        ("500 with probability 0.25 seed -7", status(500, probability=0.25, seed=-7)),
        ("401 for key aB3_ once", status(401, key="aB3_", times=1)),
        ("reset on events after 3", Fault(effect="reset", operation="events", after=3)),
        ("reset after 3 on events", Fault(effect="reset", operation="events", after=3)),
        ("reset on POST", Fault(effect="reset", method="POST")),
        ("reset on get /exports/*", Fault(effect="reset", method="GET", path="/exports/*")),
        ("empty reply on POST start_export", Fault(
            effect="empty_reply", method="POST", operation="start_export"
        )),
        ("latency 200ms", Fault(effect="latency", seconds=0.2)),
        ("slow body 1.5s once", Fault(effect="slow_body", seconds=1.5, times=1)),
        ("page drift", Fault(effect="page_drift")),
        ("page drift 3 twice", Fault(effect="page_drift", rows=3, times=2)),
        ("page drift 3 times", Fault(effect="page_drift", times=3)),
        ("page drift 2 3 times", Fault(effect="page_drift", rows=2, times=3)),
    ],
)  # fmt: skip
def test_a_sentence_is_a_fault(text: str, fault: Fault) -> None:
    assert parse_fault(text) == fault


@pytest.mark.parametrize("effect", sorted(set(EFFECTS) - {"status", "latency", "slow_body"}))
def test_every_effect_has_its_words(effect: str) -> None:
    fault = parse_fault(f"{effect.replace('_', ' ')} once")
    assert (fault.effect, fault.times) == (effect, 1)
    assert fault.label == effect.replace("_", " ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must begin with a status"),
        ("once 503", "must begin with a status"),
        ("199", "must begin with a status"),
        ("600", "must begin with a status"),
        ("rest", "empty reply"),
        ("503 onec", "cannot read 'onec'; a fault may say: retry-after SECONDS"),
        ("503 once twice", "'times' occurs twice"),
        ("503 per hour", "cannot read 'per hour'; "),
        ("503 always per hour", "per needs times"),
        ("503 once per day", "cannot read 'per day'; "),
        ("503 3", "cannot read '3'; "),
        ("503 0 times", "times must be at least 1"),
        ("503 after", "cannot read 'after'; "),
        ("503 after -1", "cannot read 'after -1'; "),
        ("503 on", "on METHOD, a /path or one of login, "),
        ("503 on nothing", "cannot read 'on nothing'; "),
        ("503 on events on dates", "'on' occurs twice"),
        ("503 for key", "last four characters"),
        ("503 for key aak_the-whole-key", "exactly the last four"),
        ("503 with probability 2", "a number from 0 to 1"),
        ("503 with probability 0", "above 0 and at most 1"),
        ("503 with probability .5 seed x", "cannot read 'seed x'; "),
        ("503 retry-after", "cannot read 'retry-after'; "),
        ("429 retry-after x", "cannot read 'retry-after x'; "),
        ("429 retry-after once", "cannot read 'retry-after once'; "),
        ("latency", "a time such as 200ms"),
        ("latency 5", "a time such as 200ms"),
        ("latency 0ms", "needs seconds"),
        ("slow body 2h", "a time such as 200ms"),
        ("page drift 0", "rows must be at least 1"),
        ("page drift on dates", "works with events only"),
        ("stuck export on events", "works with start_export only"),
    ],
)
def test_what_is_no_sentence_says_which_word(text: str, problem: str) -> None:
    with pytest.raises(FaultError) as caught:
        parse_fault(text)
    assert problem in str(caught.value)
    assert str(caught.value).startswith(f"fault {text!r}: ")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"effect": "flood"}, "unknown effect 'flood'; known effects: status"),
        ({"effect": "status"}, "a status from 200 to 599"),
        ({"effect": "reset", "status": 503}, "takes no status"),
        ({"effect": "status", "status": 503, "seconds": 1.0}, "takes no seconds"),
        ({"effect": "status", "status": 503, "content_type": "text/plain"}, "needs a body"),
        ({"effect": "status", "status": 503, "retry_after": "1\r\nX: y"}, "printable ASCII"),
        ({"effect": "latency"}, "needs seconds"),
        ({"effect": "reset", "method": "get"}, "capital letters"),
        ({"effect": "reset", "path": "exports"}, "must begin with '/'"),
        (
            {"effect": "reset", "operation": "exports"},
            "unknown operation 'exports'; known operations: login",
        ),
        ({"effect": "reset", "after": -1}, "must not be negative"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(FaultError, match=problem):
        Fault(**fields)


def test_the_reference_page_has_every_effect() -> None:
    lines = PAGE.read_text().splitlines()
    words = [line.split("`")[1] for line in lines if line.startswith("| `")]
    effects = {parse_fault(text).effect for text in words if _is_fault(text)}
    assert effects == set(EFFECTS)


@pytest.mark.parametrize(
    "text", re.findall(r"(?<=```text\n).*?(?=```)", PAGE.read_text(), re.DOTALL)[0].splitlines()
)
def test_the_sentences_of_the_reference_page_are_faults(text: str) -> None:
    assert parse_fault(text).effect in EFFECTS


def _is_fault(text: str) -> bool:
    try:
        parse_fault(text)
    except FaultError:
        return False
    return True


API = "/api/partners/acme/ad-analytics"
DATES = f"{API}/dates"
DAY = {"start_date": "2026-01-15", "end_date": "2026-01-15"}
ORDER = {**DAY, "format": "csv"}


@pytest.fixture(scope="module")
def shared() -> Iterator[LocalServer]:
    with LocalServer(sample=Sample(events_per_day=300)) as running:
        yield running


@pytest.fixture
def server(shared: LocalServer) -> LocalServer:
    """A filled server at its start; the reset under test elsewhere makes it cheap."""
    shared.reset()
    return shared


def dates(http: httpx.Client) -> httpx.Response:
    return http.get(DATES)


def test_a_status_comes_with_the_error_shape_and_a_request_id(
    server: LocalServer, http: httpx.Client
) -> None:
    server.faults.add("503 retry-after 7 once")
    answer = dates(http)
    assert (answer.status_code, answer.json()) == (503, {"error": "Service Unavailable"})
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["x-request-id"] == server.journal.entries()[-1].request_id
    assert dates(http).status_code == 200


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_that_has_no_body_comes_without_one(
    server: LocalServer, http: httpx.Client, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    server.faults.add(f"{status} once")
    answer = dates(http)
    assert (answer.status_code, answer.content) == (status, b"")
    assert "failed" not in caplog.text
    assert dates(http).status_code == 200


def test_a_status_can_bring_its_own_body(server: LocalServer, http: httpx.Client) -> None:
    server.faults.add(Fault(effect="status", status=200, body="<p>", content_type="text/html"))
    answer = dates(http)
    assert (answer.status_code, answer.text) == (200, "<p>")
    assert answer.headers["content-type"].startswith("text/html")


def test_a_reset_and_an_empty_reply_are_not_the_same(
    server: LocalServer, http: httpx.Client
) -> None:
    server.faults.add("reset twice")
    with pytest.raises(httpx.ReadError, match="reset by peer"):
        dates(http)
    # Sending may be what notices, because a body goes out after its headers.
    with pytest.raises(httpx.TransportError):
        http.post(f"{API}/bulk-export", json=ORDER)
    assert list((server.settings.data / "exports").glob("*.csv")) == []
    server.faults.add("empty reply on start_export once")
    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        http.post(f"{API}/bulk-export", json=ORDER)
    assert len(list((server.settings.data / "exports").glob("*.csv"))) == 1
    statuses = [(entry.fault, entry.status) for entry in server.journal.entries()]
    assert statuses == [("reset", None), ("reset", None), ("empty reply", None)]


def until_cut(answer: httpx.Response) -> bytes:
    """Read a body until its connection breaks, as it has to."""
    received = bytearray()
    chunks = answer.iter_raw()
    with pytest.raises(httpx.RemoteProtocolError):  # noqa: PT012  # what came before the break counts
        while True:
            received += next(chunks)
    return bytes(received)


def test_a_truncated_body_is_shorter_than_announced(
    server: LocalServer, http: httpx.Client
) -> None:
    whole = dates(http).content
    server.faults.add("truncated body once")
    with http.stream("GET", DATES) as answer:
        assert int(answer.headers["content-length"]) == len(whole)
        received = until_cut(answer)
    assert received == whole[: len(whole) // 2]
    assert dates(http).content == whole


def test_a_truncated_file_goes_on_from_its_middle(server: LocalServer, http: httpx.Client) -> None:
    job = http.post(f"{API}/bulk-export", json=ORDER).json()
    server.faults.add("truncated body on download once")
    with httpx.stream("GET", job["download_url"]) as answer:
        received = until_cut(answer)
    assert len(received) == job["size_bytes"] // 2
    rest = httpx.get(job["download_url"], headers={"Range": f"bytes={len(received)}-"})
    assert received + rest.content == httpx.get(job["download_url"]).content


def test_a_truncated_gzip_is_whole_http_without_its_end(
    server: LocalServer, http: httpx.Client
) -> None:
    whole = dates(http).content
    server.faults.add("truncated gzip once")
    with http.stream("GET", DATES) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        packed = b"".join(answer.iter_raw())
    unpacker = zlib.decompressobj(31)
    assert unpacker.decompress(packed) == whole[: len(whole) // 2]
    assert not unpacker.eof
    with pytest.raises(EOFError):
        gzip.decompress(packed)


def test_a_gzip_file_is_cut_as_it_is(server: LocalServer, http: httpx.Client) -> None:
    job = http.post(f"{API}/bulk-export", json={**ORDER, "compression": "gzip"}).json()
    server.faults.add("truncated gzip on download once")
    cut = httpx.get(job["download_url"])
    assert "content-encoding" not in cut.headers
    assert len(cut.content) == job["size_bytes"] // 2
    assert httpx.get(job["download_url"]).content.startswith(cut.content)


def test_a_slow_body_arrives_whole_in_pieces(server: LocalServer, http: httpx.Client) -> None:
    whole = http.get(f"{API}/events", params=DAY).content
    server.faults.add("slow body 1ms")
    with http.stream("GET", f"{API}/events", params=DAY) as answer:
        pieces = list(answer.iter_raw())
    assert b"".join(pieces) == whole


def test_latency_holds_a_request_up_until_a_reset(server: LocalServer) -> None:
    server.faults.add("latency 3600s")
    answers: list[int] = []

    def ask() -> None:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        answers.append(httpx.get(server.url + DATES, headers=headers, timeout=20).status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    while not server.faults.counts()[0].struck:
        assert asking.is_alive()
        asking.join(0.01)
    assert answers == []
    server.reset()
    asking.join(20)
    assert answers == [200]


def test_bad_json_is_framed_well(server: LocalServer, http: httpx.Client) -> None:
    server.faults.add("bad json")
    answer = dates(http)
    assert answer.headers["content-type"] == "application/json"
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        answer.json()


def test_a_wrong_content_type_lies_about_the_right_body(
    server: LocalServer, http: httpx.Client
) -> None:
    server.faults.add("wrong content type once", "html page once")
    wrong, page = dates(http), dates(http)
    assert wrong.headers["content-type"] == page.headers["content-type"]
    assert wrong.json() == dates(http).json()
    assert page.status_code == 200
    assert page.text.startswith("<!DOCTYPE html>")


def test_pages_drift_as_if_rows_had_come_in_front(server: LocalServer, http: httpx.Client) -> None:
    def page(number: int) -> dict[str, Any]:
        params = {**DAY, "per_page": "100", "page": str(number)}
        body = http.get(f"{API}/events", params=params).json()
        return {"ids": [event["event_id"] for event in body["data"]], **body["meta"]}

    first = page(1)
    server.faults.add("page drift 2")
    second, last = page(2), page(4)
    assert second["ids"][:2] == first["ids"][-2:]
    assert (first["total"], second["total"], len(last["ids"])) == (300, 302, 2)


def test_a_stuck_export_stays_in_work_all_four_ways(
    server: LocalServer, http: httpx.Client
) -> None:
    server.faults.add("stuck export once")
    answer = http.post(f"{API}/bulk-export", json=ORDER)
    job = answer.json()
    assert (answer.status_code, job["status"]) == (202, "processing")
    assert http.get(job["status_url"]).json()["status"] == "processing"
    assert httpx.get(job["download_url"]).status_code == 202
    assert http.post(f"{API}/bulk-export", json=ORDER).json()["export_id"] == job["export_id"]


def test_a_failed_export_says_why_and_can_be_ordered_again(
    server: LocalServer, http: httpx.Client
) -> None:
    server.faults.add("failed export once")
    job = http.post(f"{API}/bulk-export", json=ORDER).json()
    assert (job["status"], job["error"]) == ("failed", "No space left on device")
    assert httpx.get(job["download_url"]).status_code == 410
    assert http.post(f"{API}/bulk-export", json=ORDER).json()["status"] == "completed"


def test_an_expired_url_is_refused_and_a_new_one_is_not(
    server: LocalServer, http: httpx.Client
) -> None:
    server.faults.add("expired url once")
    job = http.post(f"{API}/bulk-export", json=ORDER).json()
    assert httpx.get(job["download_url"]).status_code == 403
    again = http.get(job["status_url"]).json()
    assert httpx.get(again["download_url"]).status_code == 200


def test_a_fault_strikes_only_what_it_is_for(server: LocalServer, http: httpx.Client) -> None:
    server.faults.add("503 on events", "504 on POST", f"401 on {API}/s*")
    summary = http.get(f"{API}/summary", params=DAY)
    events = http.get(f"{API}/events", params=DAY)
    order = http.post(f"{API}/bulk-export", json=ORDER)
    found = [answer.status_code for answer in (summary, events, order, dates(http))]
    assert found == [401, 503, 504, 200]
    assert [(count.matched, count.struck) for count in server.faults.counts()] == [(1, 1)] * 3


def test_a_fault_can_be_for_one_key(server: LocalServer, http: httpx.Client) -> None:
    server.faults.add(f"503 for key {server.api_key[-4:]}")
    assert dates(http).status_code == 503
    assert httpx.get(server.url + DATES, headers={"Authorization": "Bearer x"}).status_code == 401


def test_the_first_fault_that_strikes_has_the_request_to_itself(
    server: LocalServer, http: httpx.Client
) -> None:
    server.faults.add("500 once", "502 once")
    assert [dates(http).status_code for _ in range(3)] == [500, 502, 200]


def request(path: str) -> Entry:
    return Entry(
        number=1,
        at=0,
        method="GET",
        path=path,
        query=(),
        operation=None,
        key=None,
        headers={},
        status=None,
        fault=None,
        request_id="",
    )


def struck(faults: Faults, *paths: str) -> list[bool]:
    return [faults.strike(request(path)) is not None for path in paths]


def test_after_lets_so_many_pass(clock: Clock) -> None:
    faults = Faults(clock)
    faults.add("reset after 2 twice")
    assert struck(faults, *"/" * 6) == [False, False, True, True, False, False]


def test_per_hour_counts_by_the_clock_of_the_server(clock: Clock) -> None:
    faults = Faults(clock)
    faults.add("503 twice per hour")
    assert struck(faults, *"///") == [True, True, False]
    clock.advance(seconds=3_599)
    assert struck(faults, "/") == [False]
    clock.advance(seconds=1)
    assert struck(faults, *"///") == [True, True, False]


def test_per_request_counts_each_address_and_remembers_so_many(clock: Clock) -> None:
    faults = Faults(clock)
    faults.add("503 once per request")
    assert struck(faults, "/a", "/a", "/b", "/b", "/a") == [True, False, True, False, False]
    struck(faults, *(f"/{number}" for number in range(MOST_REQUESTS - 1)))
    assert struck(faults, "/b", "/a") == [False, True]


def test_the_same_seed_strikes_the_same_requests(clock: Clock) -> None:
    def run(seed: int) -> list[bool]:
        faults = Faults(clock)
        faults.add(f"503 with probability 0.3 seed {seed}")
        return struck(faults, *"/" * 200)

    assert run(1) == run(1) != run(2)
    assert 30 < sum(run(1)) < 90


def test_with_one_wrong_fault_none_is_armed(clock: Clock) -> None:
    faults = Faults(clock)
    with pytest.raises(ValueError, match="503 onec"):
        faults.add("503", "503 onec")
    assert faults.counts() == []
