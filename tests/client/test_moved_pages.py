"""Pages that are missing, come again or answer another question: no output is silently short."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from tests.client.bench import Bench
from tests.client.notes import Notes
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import Client, QuotaPolicy, SeenEvents
from adanalytics_client.errors import ConfigurationError, ProtocolError
from adanalytics_client.observers import PageDrift
from adanalytics_server.local import LocalServer, Sample

DAY = "2026-01-15"
PAGED: dict[str, Any] = {"split": "daily", "per_page": 500}


@pytest.fixture(scope="module")
def large() -> Iterator[LocalServer]:
    """A day of 12,000 events."""
    with LocalServer(sample=Sample(events_per_day=12_000), rate_limit=0) as server:
        yield server


def open_on(server: LocalServer, open_variant: OpenVariant, **options: Any) -> Variant:
    server.reset()
    return open_variant(
        server.url, api_key=server.api_key, quota=QuotaPolicy(limit=None), **options
    )


@pytest.mark.parametrize("fault", ["204 once after 3", "page drift 700 twice after 2"])
def test_a_file_is_whole_although_pages_were_missing(
    large: LocalServer, open_variant: OpenVariant, tmp_path: Path, fault: str
) -> None:
    variant = open_on(large, open_variant)
    large.faults.add(fault)
    query = variant.client.events(DAY, **PAGED)
    assert variant.on(query, "write", tmp_path / "day.jsonl") == 12_000
    lines = (tmp_path / "day.jsonl").read_bytes().splitlines()
    assert len(set(lines)) == 12_000


@pytest.mark.parametrize("fault", ["204 always on events after 3", "page drift 700 always"])
def test_a_file_that_would_be_short_is_not_written(
    large: LocalServer, open_variant: OpenVariant, tmp_path: Path, fault: str
) -> None:
    variant = open_on(large, open_variant)
    large.faults.add(fault)
    query = variant.client.events(DAY, **PAGED)
    with pytest.raises(ProtocolError):
        variant.on(query, "write", tmp_path / "day.jsonl")
    large.reset()
    large.faults.add(fault)
    with pytest.raises(ProtocolError):
        variant.on(query, "to_arrow")
    assert list(tmp_path.iterdir()) == []


def test_on_drift_warn_takes_what_came(
    large: LocalServer, open_variant: OpenVariant, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    drifts = Notes()
    variant = open_on(large, open_variant, observer=drifts)
    large.faults.add("page drift 700 twice after 2")
    query = variant.client.events(DAY, **PAGED, on_drift="warn")
    assert variant.on(query, "write", tmp_path / "day.jsonl") == 11_300
    assert (drifts.of(PageDrift)[-1].distinct, drifts.of(PageDrift)[-1].total) == (11_300, 12_700)
    assert "the service counts 12,700 events, but 11,300 arrived" in caplog.text
    assert len(large.journal.entries()) == 27


def rows(*ids: Any) -> list[dict[str, Any]]:
    return [{"event_id": each} for each in ids]


def pages_of(bench: Bench, *pages: Any, beside: Any = None) -> None:
    """Answer page n with the nth of these; behind them begin again."""

    def script(asked: Asked) -> Say:
        page = pages[(int(asked.query["page"]) - 1) % len(pages)]
        return Say({"events": page, **(beside or {})})

    bench.script = script


@pytest.mark.parametrize("beside", [{}, {"total": 20}, {"has_more": True}])
def test_two_pages_in_turn_are_an_error(bench: Bench, beside: dict[str, Any]) -> None:
    pages_of(bench, rows(*"abc"), rows(*"def"), beside=beside)
    with pytest.raises(ProtocolError, match="Pages 1 and 3 of 2026-01-15 are the same"):
        bench.rows(DAY, split="none")
    assert len(bench.asked) == 3


@pytest.mark.parametrize("on_drift", ["raise", "warn"])
@pytest.mark.parametrize("event_id", ["text", 7])
def test_pages_without_a_new_event_are_an_error(
    bench: Bench, on_drift: str, event_id: str | int
) -> None:
    """The same ids in another order, or with other bytes, on every page."""

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        ids = [event_id, "b", "c", "d"]
        shifted = ids[page % 4 :] + ids[: page % 4]
        found = [{"event_id": each, "n": page} for each in shifted[: 3 + page % 2]]
        return Say({"events": found, "has_more": True})

    bench.script = script
    with pytest.raises(ProtocolError, match=r"(contain no new event|are the same)"):
        bench.rows(DAY, split="none", on_drift=on_drift)
    assert len(bench.asked) <= 5


def test_events_without_an_id_end_a_slice_by_its_total(bench: Bench) -> None:
    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        found = [{"n": (at + page) % 10} for at in range(10)]
        return Say({"events": found, "total": 20, "has_more": True})

    bench.script = script
    with pytest.raises(ProtocolError, match="counts 20 events in 2026-01-15, but 30 arrived"):
        bench.rows(DAY, split="none")
    assert [asked.query["page"] for asked in bench.asked] == ["1", "2", "1", "3"]


def test_pages_without_an_end_are_bounded(bench: Bench) -> None:
    """Neither a total nor an id shows that they are the same; the quota of an hour is the bound."""
    bench.script = lambda _: Say({"events": [{"served_at": len(bench.asked)}]})
    with pytest.raises(ProtocolError, match="more than 20 pages and states no total"):
        bench.open(quota=QuotaPolicy(limit=20)).rows(DAY, split="none")
    assert len(bench.asked) == 20


def test_events_that_come_twice_are_handed_out_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Why they do is not known: the data may have changed, or the service may hold them twice."""
    pages_of(bench, rows(*"abc"), rows(*"cde"), rows(*"ea"), beside={"total": 5})
    assert bench.rows(DAY, split="none", per_page=3) == rows(*"abcde")
    one, two = caplog.messages
    assert "Page 2 of 2026-01-15 repeats an event, which was left out; the data may have" in one
    assert "Page 3 of 2026-01-15 repeats 2 events, which were left out; the data may have" in two


@pytest.mark.parametrize("total", [5, None])
def test_events_that_one_page_has_twice_are_those_of_the_service(
    bench: Bench, caplog: pytest.LogCaptureFixture, total: int | None
) -> None:
    """A page is one moment, so nothing moved."""
    pages_of(bench, rows(*"abb"), rows(*"cd"), beside={"total": total})
    assert bench.rows(DAY, split="none", per_page=3) == rows(*"abbcd")
    assert caplog.messages == [f"Events of {DAY} come twice on one page; all are kept."]
    assert len(bench.asked) == 2


@pytest.mark.parametrize("total", [4, 6])
def test_events_stored_twice_do_not_hide_that_one_is_missing(bench: Bench, total: int) -> None:
    pages_of(bench, rows(*"abb"), rows(*"cd"), [], beside={"total": total})
    with pytest.raises(ProtocolError, match=f"counts {total} events in {DAY}, but 5 arrived"):
        bench.rows(DAY, split="none", per_page=3)


def test_a_copy_does_not_stand_for_an_event_that_went(bench: Bench) -> None:
    """A repeat starts a second attempt, before which x came in front and c went."""
    bench.holds(lambda _page: rows(*("abbc" if len(bench.asked) < 3 else "xabb")))
    with pytest.raises(ProtocolError, match="of 2026-01-15"):
        bench.rows(DAY, split="none", per_page=2)


def test_a_copy_that_counts_once_does_not_hide_an_event_that_came(bench: Bench) -> None:
    def script(asked: Asked) -> Say:
        page, size = int(asked.query["page"]), int(asked.query["per_page"])
        ids = "abbcd" if page == 1 else "xabbcd"
        events = rows(*ids)[(page - 1) * size : page * size]
        return Say({"events": events, "total": len({*ids})})

    bench.script = script
    with pytest.raises(ProtocolError, match="changed while they were pulled"):
        bench.rows(DAY, split="none", per_page=3)


def test_copies_on_two_pages_are_an_error_that_tells_how_to_pull_them(bench: Bench) -> None:
    """Pages that moved, or were ordered anew, have an event twice and lack another one."""
    events = rows(*"abccd")
    bench.holds(events)
    with pytest.raises(ProtocolError, match="counts 5 events") as raised:
        bench.rows(DAY, split="none", per_page=3)
    assert (raised.value.remedy.code, raised.value.remedy.option) == ("other_pages", "per_page")
    assert bench.rows(DAY, split="none", per_page=4) == events


def test_a_resumed_pull_keeps_events_stored_twice(bench: Bench) -> None:
    pages_of(bench, rows(*"abb"), rows(*"cdd"), rows("e"), beside={"total": 7})
    first, *rest = bench.pages(DAY, split="none", per_page=3)
    assert [row for page in rest for row in page.rows] == rows(*"cdde")
    assert bench.rows(DAY, split="none", per_page=3, resume=first.token) == rows(*"cdde")


@pytest.mark.parametrize(("on_drift", "found"), [("raise", "abcdefg"), ("warn", "abcdeafg")])
def test_few_ids_are_kept_of_a_slice_that_is_not_asked_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, on_drift: str, found: str
) -> None:
    monkeypatch.setattr("adanalytics_client._events.slice.MOST_IDS", {"raise": 100, "warn": 4})
    pages_of(bench, rows(*"abc"), rows(*"cde"), rows(*"afg"), beside={"total": 7})
    assert bench.rows(DAY, split="none", on_drift=on_drift) == rows(*found)


class Lagging:
    """A proxy whose first connection sends the answer of the request before; others are right."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        self.answers = answers
        self.connections = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            late = self.connections == 1
            threading.Thread(target=self._serve, args=(connection, late), daemon=True).start()

    def _serve(self, connection: socket.socket, late: bool) -> None:
        waiting = [self.answers["late"]] if late else []
        with connection, connection.makefile("rb") as lines:
            closes = False
            while not closes and (first := lines.readline()):
                while (header := lines.readline().strip()) != b"":
                    closes |= header.lower() == b"connection: close"
                hour = first.split(b"hour=")[1].split(b"&")[0].decode()
                waiting.append(self.answers[hour])
                body = waiting.pop(0)
                head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
                connection.sendall(head.encode() + body)


@pytest.fixture
def late_pages() -> dict[str, bytes]:
    event = b'{"events":[{"event_id":"%s","event_hour":%s}],"total":1}'
    answers = {str(hour): event % (b"e%d" % hour, b"%d" % hour) for hour in range(24)}
    return answers | {"late": event % (b"late", b"99")}


def test_a_late_answer_is_asked_for_again_on_a_new_connection(
    open_variant: OpenVariant, late_pages: dict[str, bytes]
) -> None:
    with closing(Lagging(late_pages)) as proxy:
        found = open_variant(proxy.url, quota=QuotaPolicy(limit=None)).rows(DAY, concurrency=1)
        assert [row["event_hour"] for row in found] == [*range(24)]
        assert proxy.connections == 2


@pytest.mark.parametrize(
    ("body", "other"),
    [
        ({"events": rows("a"), "pagination": {"page": 7, "total": 1}}, "page 7"),
        ({"events": [{"event_date": "2026-01-14"}], "total": 1}, "events of 2026-01-14"),
        ({"events": [{"event_hour": 4}], "total": 1}, "events of hour 4"),
        ({"events": rows("a"), "page": 0, "total": 1}, "page 0"),
        ({"events": [{"event_date": "2026-01-14T23:00:00Z"}]}, "events of 2026-01-14"),
        ({"events": [{"event_hour": "04"}]}, "events of hour 4"),
        ({"events": [*rows(*"ab"), {"event_date": "2026-01-16"}]}, "events of 2026-01-16"),
        ({"events": [{"event_hour": 3}, *rows("a"), {"event_hour": 4}]}, "events of hour 4"),
    ],
)
def test_a_page_that_was_not_asked_for_is_an_error(
    bench: Bench, body: dict[str, Any], other: str
) -> None:
    bench.says(Say(body))
    with pytest.raises(ProtocolError, match=f"hold {other}: they belong to another request"):
        bench.rows(DAY, hour=3)
    assert len(bench.asked) == 3


@pytest.mark.parametrize(
    "body",
    [
        {"events": [{"event_date": "15.01.2026", "event_hour": "4 h"}], "total": 1},
        {"events": [{"event_date": f"{DAY}T03:59", "event_hour": "03"}], "page": 1, "total": 1},
        {"events": [{"event_date": None, "event_hour": None}], "page": {"number": 7}, "total": 1},
    ],
)
def test_a_page_that_states_nothing_else_is_taken(bench: Bench, body: dict[str, Any]) -> None:
    bench.says(Say(body))
    assert len(bench.rows(DAY, hour=3)) == 1
    assert len(bench.asked) == 1


def test_the_page_before_is_asked_again(bench: Bench) -> None:
    """A proxy sends the answer for page 1 once more."""

    def script(asked: Asked) -> Say:
        late = len(bench.asked) == 2
        page = 1 if late else int(asked.query["page"])
        return Say({"events": rows(f"e{page}"), "page": page, "total": 2})

    bench.script = script
    assert bench.rows(DAY, split="none") == rows("e1", "e2")
    assert [each.query["page"] for each in bench.asked] == ["1", "2", "2"]


def test_a_number_that_python_cannot_hold_does_not_keep_a_page_from_a_file(
    bench: Bench, tmp_path: Path
) -> None:
    event = b'{"event_hour":%b,"n":%b}' % (b"9" * 5000, b"9" * 5000)
    bench.says(Say(b'{"events":[%b],"total":1}' % event))
    query = bench.client.events(DAY, hour=3, check="none")
    assert bench.on(query, "write", tmp_path / "hour.jsonl") == 1


EMPTY: list[dict[str, Any]] = [{"status": 204}, {"status": 200}]


@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("total", [0, 20])
def test_a_total_beside_no_body_counts(
    bench: Bench, tmp_path: Path, empty: dict[str, Any], total: int
) -> None:
    bench.says(Say(**empty, headers={"X-Total-Count": f"{total}"}))
    query = bench.client.events(DAY, split="none")
    if total:
        with pytest.raises(ProtocolError, match="page 1 of 2026-01-15 was empty twice"):
            bench.on(query, "write", tmp_path / "day.jsonl")
        assert list(tmp_path.iterdir()) == []
    else:
        assert bench.on(query, "write", tmp_path / "day.jsonl") == 0
    assert [each.path.rpartition("/")[2] for each in bench.asked[:2]] == ["events"] * 2


@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("beside", [{}, {"total": 5}, {"has_more": True}])
def test_a_later_page_without_a_body_is_an_error(
    bench: Bench, empty: dict[str, Any], beside: dict[str, Any]
) -> None:
    first = {"events": rows(*"abc"), **beside}
    bench.script = lambda asked: Say(first) if asked.query["page"] == "1" else Say(**empty)
    with pytest.raises(ProtocolError, match="page 2 of 2026-01-15 was empty twice"):
        bench.rows(DAY, split="none")
    assert len(bench.asked) == 3


def test_a_slice_is_asked_three_times_at_most(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    pages_of(bench, rows("a"), [], beside={"total": 2, "has_more": False})
    with pytest.raises(
        ProtocolError, match="counts 2 events in 2026-01-15, but 1 arrived"
    ) as caught:
        bench.rows(DAY, split="none")
    assert 'on_drift="warn"' in str(caught.value)
    assert len(bench.asked) == 6
    assert bench.rows(DAY, split="none", on_drift="warn") == rows("a")
    assert len(bench.asked) == 8


def test_events_that_went_are_not_counted_for_others(bench: Bench) -> None:
    """The second attempt has three of four events, and its first page counts one that went, too."""
    stored = iter(["abcde", "abcde", "bcde", "bcde", "bcd", "bcd"])
    bench.holds(lambda _page: rows(*next(stored, "bcd")), size=2)
    with pytest.raises(ProtocolError, match="counts 3 events in 2026-01-15, but 4 arrived"):
        bench.rows(DAY, split="none", per_page=2)


def changing(
    stand_in: StandIn,
    *stored: str,
    totals: str = "",
    field: str = "event_id",
    ids: Mapping[str, str] = MappingProxyType({}),
    has_totals: bool = True,
) -> None:
    """Answer request n from the nth list of events and the nth total, then from the last ones."""
    counts = [*map(int, totals)] or [*map(len, stored)]

    def script(asked: Asked) -> Say:
        at, last = len(stand_in.asked) - 1, 2 * int(asked.query["page"])
        texts = stored[min(at, len(stored) - 1)][last - 2 : last]
        events = [
            {field: text} | ({"event_id": ids[text]} if text in ids else {}) for text in texts
        ]
        total = {"total": counts[min(at, len(counts) - 1)]} if has_totals else {}
        return Say({"events": events, **total})

    stand_in.script = script


TOTALS = "counts 5 events in 2026-01-15, but 6 arrived, after 2 attempts. Pull it later"


@pytest.mark.parametrize(
    ("field", "text"), [("event_id", TOTALS), ("n", "2026-01-15 changed while they were")]
)
def test_an_event_that_came_hides_none_that_went(bench: Bench, field: str, text: str) -> None:
    """ "c" moves to the first page when "a" goes; "f" makes as many as were counted."""
    changing(bench.stand_in, "abcde", "bcde", "bcdef", field=field)
    with pytest.raises(ProtocolError, match=text):
        bench.rows(DAY, split="none", per_page=2)


@pytest.mark.parametrize("at", [0, 1])
def test_a_number_that_fell_and_rose_is_remembered_by_tokens(bench: Bench, at: int) -> None:
    stored = ["abcde", "bcde", "bcdef", "bcdef"]
    changing(bench.stand_in, *stored, field="n")
    page = bench.pages(DAY, split="none", per_page=2, on_drift="warn")[at]
    bench.asked.clear()
    changing(bench.stand_in, *stored[at + 1 :], field="n")
    with pytest.raises(ProtocolError, match="2026-01-15 changed while they were"):
        bench.rows(DAY, split="none", per_page=2, resume=page.token)


def test_the_last_token_behind_a_number_that_fell_and_rose_is_no_end(stand_in: StandIn) -> None:
    changing(stand_in, "abcde", "bcde", "bcdef", field="n")
    tokens: list[str] = []
    with Client(stand_in.url, api_key="key", partner="acme") as client:
        pages = client.events(DAY, split="none", per_page=2).pages()
        with pytest.raises(ProtocolError, match="changed while they were"):
            tokens.extend(page.token for page in pages)
        stand_in.script = lambda _asked: Say({"error": "not_found"}, status=404)
        with pytest.raises(ProtocolError, match="changed while they were"):
            list(client.events(DAY, split="none", per_page=2, resume=tokens[-1]))


def test_a_number_that_moves_alone_costs_one_more_attempt(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Copies of a service may count differently each time, and have the same events."""
    changing(bench.stand_in, "abcde", totals="545" * 2)
    assert bench.rows(DAY, split="none", per_page=2) == rows(*"abcde")
    assert len(bench.asked) == 6
    text = "The events of 2026-01-15 changed while they were pulled, so some may be missing"
    assert caplog.messages == [f"{text}; requesting all again."]


def test_a_number_that_fell_and_rose_is_said(bench: Bench) -> None:
    changing(bench.stand_in, "abcde", "bcde", "bcdef")
    drifts = Notes()
    variant = bench.open(observer=drifts)
    assert variant.rows(DAY, split="none", per_page=2, on_drift="warn") == rows(*"abdef")
    assert "fell and rose, so some may be missing" in str(drifts.of(PageDrift)[-1])


LATE = ("abcdef", "abcdef", "axbcdef", "axbcdef")
"""Behind the second page, a late event moves each one of them to the next page."""

SHARED = dict.fromkeys("abcdefx", "id")


@pytest.mark.parametrize("has_totals", [True, False])
@pytest.mark.parametrize("ids", [{}, SHARED])
def test_late_events_that_nothing_identifies_are_noticed(
    bench: Bench, has_totals: bool, ids: dict[str, str]
) -> None:
    """The last event of the page in front comes again, and as many as are counted."""
    changing(bench.stand_in, *LATE, has_totals=has_totals, ids=ids, field="n")
    with pytest.raises(ProtocolError, match="Page 2 of 2026-01-15 has other events, another"):
        bench.rows(DAY, split="none", per_page=2)
    assert [asked.query["page"] for asked in bench.asked] == ["1", "2", "3", "2"]


def test_a_late_event_in_front_of_equal_ones_is_noticed(bench: Bench) -> None:
    """The page in front is the same again, because its events are equal."""
    changing(bench.stand_in, "bdddb", "bdddb", "bcdddb", field="n")
    with pytest.raises(ProtocolError, match="Page 1 of 2026-01-15 has other events"):
        bench.rows(DAY, split="none", per_page=2)


def test_a_late_event_that_goes_again_is_noticed(bench: Bench) -> None:
    changing(bench.stand_in, "abcdef", "abcdef", "axbcdef", "abcdef", field="n")
    with pytest.raises(ProtocolError, match="Page 2 of 2026-01-15 has other events"):
        bench.rows(DAY, split="none", per_page=2)


def test_a_later_attempt_has_doubts_of_its_own(bench: Bench) -> None:
    """An id is of "a" and of "y" there, and two events are "y", or one has moved."""
    ids = {**dict(zip("abcd", "abcd", strict=True)), "y": "a"}
    changing(bench.stand_in, "abcd", "bcd", "bcd", "acydyb", ids=ids, field="n")
    events = bench.rows(DAY, split="none", per_page=2)
    assert [event["n"] for event in events] == [*"abdcyy"]
    assert [asked.query["page"] for asked in bench.asked] == [*"12312314"]
    bench.asked.clear()
    changing(bench.stand_in, "abcd", "bcd", "bcd", "acdyb", "acdyb", "zacdyb", ids=ids, field="n")
    with pytest.raises(ProtocolError, match="Page 2 of 2026-01-15 has other events"):
        bench.rows(DAY, split="none", per_page=2)


def test_a_slice_whose_ids_are_shared_is_not_requested_again(bench: Bench) -> None:
    changing(bench.stand_in, "ab", totals="4", ids=SHARED, field="n")
    with pytest.raises(ProtocolError, match="not known which are missing"):
        bench.rows(DAY, split="none", per_page=2)
    assert len(bench.asked) == 2


@pytest.mark.parametrize(
    ("stored", "pages"),
    [
        (["abbcbb"], "12134"),
        (["abbcd", "abbcde"], "12134"),
        (["abcd", "abcd", "abcddd"], "123214"),
        (["abbcc", "abbccc", "abbcccc"], "1213214"),
    ],
)
def test_equal_events_of_two_pages_are_kept(bench: Bench, stored: list[str], pages: str) -> None:
    changing(bench.stand_in, *stored, field="n")
    assert bench.rows(DAY, split="none", per_page=2) == [{"n": n} for n in stored[-1]]
    assert "".join(asked.query["page"] for asked in bench.asked) == pages


def test_no_advice_to_pull_again_while_that_happens(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    def script(asked: Asked) -> Say:
        found = rows("a") if len(bench.asked) == 1 else rows(*"ab")
        found = [] if asked.query["page"] == "2" else found
        return Say({"events": found, "total": 2, "has_more": False})

    bench.script = script
    drifts = Notes()
    assert bench.open(observer=drifts).rows(DAY, split="none") == rows(*"ab")
    assert [text.partition("; ")[2] for text in caplog.messages] == ["requesting all again."]
    assert drifts.of(PageDrift) == []


def test_a_slice_without_ids_is_not_asked_again(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    pages_of(bench, [{"n": 1}], [], beside={"total": 2, "has_more": False})
    with pytest.raises(ProtocolError, match="not known which are missing"):
        bench.rows(DAY, split="none")
    assert len(bench.asked) == 2
    assert "Page 2 of 2026-01-15 is the last;" in caplog.text


def test_pages_of_a_slice_that_is_asked_again_go_on_from_their_tokens(bench: Bench) -> None:
    """No token behind a missing event leads to an output that is silently short."""
    attempts: list[int] = []

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        attempts.extend([page] * (page == 1))
        stored = rows(*"abcdef") if len(attempts) > 1 else rows(*"abcf")
        return Say({"events": stored[page * 2 - 2 : page * 2], "total": 6, "has_more": page < 3})

    bench.script = script
    pages = bench.pages(DAY, split="none", per_page=2)
    assert [row["event_id"] for page in pages for row in page.rows] == [*"abcfde"]
    assert [page.last for page in pages] == [False] * (len(pages) - 1) + [True]
    for page in pages[2:-2]:
        with pytest.raises(ProtocolError, match="counts 6 events"):
            bench.rows(DAY, split="none", per_page=2, resume=page.token)
    assert bench.rows(DAY, split="none", per_page=2, resume=pages[-1].token) == []


@pytest.mark.parametrize("late", ["x", "wx", "wxy", "uvwxyz"])
@pytest.mark.parametrize("has_totals", [True, False])
def test_late_events_between_two_runs_are_noticed(
    bench: Bench, late: str, has_totals: bool
) -> None:
    """A page of a resumed pull, not always its first, has events that the earlier run yielded."""
    bench.holds(rows(*"abcdef"), totals=has_totals)
    tokens = [page.token for page in bench.pages(DAY, split="none", per_page=2)]
    bench.holds(rows(*late, *"abcdef"), totals=has_totals)
    expected = r"counts .* but|Pages 1 and \d .* are the same|Page 1 .* has other events"
    with pytest.raises(ProtocolError, match=expected):
        bench.rows(DAY, split="none", per_page=2, resume=tokens[0], check="auto")
    bench.holds(rows(*"abcdefy"), totals=has_totals)
    taken = bench.rows(DAY, split="none", per_page=2, resume=tokens[0])
    assert [row["event_id"] for row in taken] == [*"cdefy"]


@pytest.mark.parametrize("has_ids", [True, False])
def test_another_order_between_two_runs_is_an_error(
    bench: Bench, caplog: pytest.LogCaptureFixture, has_ids: bool
) -> None:
    """Without a total, only the last page that was yielded, once more, shows another order."""
    stored = [{"event_id" if has_ids else "n": name} for name in "abcdef"]
    bench.holds(stored, size=2, totals=False)
    options: dict[str, Any] = {"split": "none", "per_page": 2}
    tokens = [page.token for page in bench.pages(DAY, **options)]
    bench.asked.clear()
    assert bench.rows(DAY, **options, resume=tokens[1]) == stored[4:]
    assert [asked.query["page"] for asked in bench.asked[:2]] == ["3", "2"]
    assert [asked.query["page"] for asked in bench.asked].count("2") == 1
    stored.reverse()
    with pytest.raises(ProtocolError, match=r"Page 2 of 2026-01-15 has other events, another"):
        bench.rows(DAY, **options, resume=tokens[1])
    taken = bench.rows(DAY, **options, resume=tokens[1], on_drift="warn", check="none")
    assert taken == ([] if has_ids else stored[4:])
    assert "Page 2 of 2026-01-15 has other events" in caplog.text


@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("at", range(2, 7))
def test_a_token_remembers_events_that_a_total_would_count_again(
    bench: Bench, has_ids: bool, at: int
) -> None:
    """As many events come as the service counts, in another order than in the earlier run."""
    stored = [{"event_id" if has_ids else "n": f"e{number}"} for number in range(40)]
    bench.holds(stored, size=5)
    options: dict[str, Any] = {"split": "none", "per_page": 5}
    token = bench.pages(DAY, **options)[at - 1].token
    bench.asked.clear()
    assert bench.rows(DAY, **options, resume=token) == stored[5 * at :]
    assert [int(asked.query["page"]) for asked in bench.asked][:-1] == [*range(at + 1, 9)]
    stored.reverse()
    with pytest.raises(ProtocolError, match=rf"counts 40 events|Page {at} of .* has other events"):
        bench.rows(DAY, **options, resume=token)


@pytest.mark.parametrize("late", [1, 5, 11])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_late_events_without_an_id_between_two_runs_are_noticed(
    bench: Bench, at: int, late: int
) -> None:
    """As many events come as the service counts: those that came late are missing, others twice."""
    stored = [{"n": number} for number in range(48)]
    bench.holds(stored, size=12)
    options: dict[str, Any] = {"split": "none", "per_page": 12}
    token = bench.pages(DAY, **options)[at - 1].token
    stored[:0] = [{"n": -number} for number in range(1, late + 1)]
    with pytest.raises(ProtocolError, match=rf"Page {at} of .* has other events"):
        bench.rows(DAY, **options, resume=token)
    # A run that ends after a page leaves the next one nothing to see.
    with pytest.raises(ProtocolError, match=rf"Page {at} of .* has other events"):
        bench.first(bench.client.events(DAY, **options, resume=token))


def test_equal_events_with_a_shared_id_come_in_a_resumed_pull(bench: Bench) -> None:
    """An id of events that differ is none, so an equal event of a later page is another one."""
    stored = [{"event_id": "u", "n": number} for number in (0, 1, 2, 3, 0, 4)]
    bench.holds(stored, size=2)
    options: dict[str, Any] = {"split": "none", "per_page": 2}
    token = bench.pages(DAY, **options)[1].token
    assert bench.rows(DAY, **options, resume=token) == stored[4:]


def test_an_event_that_comes_again_takes_no_other_with_it(bench: Bench) -> None:
    pages_of(bench, *(rows(*page) for page in ("ab", "cd", "eb", "hi", "")))
    first = bench.pages(DAY, split="none", per_page=2, on_drift="warn")[0]
    rest = bench.rows(DAY, split="none", per_page=2, resume=first.token, on_drift="warn")
    assert [row["event_id"] for row in rest] == [*"cdehi"]


def test_max_events_is_reached_before_anything_is_missing(bench: Bench) -> None:
    bench.says(Say({"events": rows("a"), "total": 2, "has_more": False}))
    assert bench.rows(DAY, split="none", max_events=1) == rows("a")
    assert len(bench.asked) == 1


def test_on_drift_is_checked(bench: Bench) -> None:
    with pytest.raises(ConfigurationError, match=r"on_drift='stop' is not valid\. Pass one of"):
        bench.client.events(DAY, on_drift="stop")
    assert bench.asked == []


def test_events_that_come_at_the_end_are_no_drift(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.holds(lambda page: rows(*("abcd" if page == 1 else "abcde")), size=2)
    assert bench.rows(DAY, split="none") == rows(*"abcde")
    assert caplog.messages == []


def test_events_that_go_while_they_are_read_move_others(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """An hour that is replaced by less: its old events are gone, but were handed on."""
    first_looks = iter(["abcdef"])
    bench.holds(lambda _page: rows(*next(first_looks, "cdef")), size=2)
    with pytest.raises(ProtocolError, match="counts 4 events in 2026-01-15, but 6 arrived"):
        bench.rows(DAY, split="none")


@pytest.mark.parametrize("form", [str, int])
def test_ids_that_are_numbers_are_ids(bench: Bench, form: Any) -> None:
    stored = [*range(6)]

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        stored[:0] = [99] if page == 2 else []
        found = rows(*map(form, stored[page * 2 - 2 : page * 2]))
        return Say({"events": found, "has_more": page * 2 < len(stored)})

    bench.script = script
    drifts = Notes()
    found = bench.open(observer=drifts).rows(DAY, split="none")
    assert found == rows(*map(form, range(6)))
    assert [(each.number, each.repeated) for each in drifts.of(PageDrift)] == [(2, 1)]


def without_ids(number: int, at: int) -> dict[str, str]:
    """Event `at` of a page: one of a thousand differs from page to page."""
    return {"event_type": "impression", "revenue": f"0.00{number}" if at == 401 else "0.001"}


def with_long_texts(number: int, at: int) -> dict[str, str]:
    """Ids that are far from each other, between texts that are the same on each page."""
    return {"event_id": f"{number}-{at:03}", "pad": "x" * (5000 if at % 100 == 0 else 3)}


@pytest.mark.parametrize("event", [without_ids, with_long_texts])
def test_pages_that_differ_in_little_are_two(bench: Bench, event: Any) -> None:
    def script(asked: Asked) -> Say:
        number = int(asked.query["page"])
        found = [event(number, at) for at in range(1000 if number < 4 else 0)]
        return Say({"events": found, "has_more": number < 3})

    bench.script = script
    assert len(bench.rows(DAY, split="none", per_page=1000)) == 3000


@pytest.mark.parametrize("split", ["none", "auto"])
def test_a_repeated_page_is_an_error_behind_the_first_one(bench: Bench, split: str) -> None:
    bench.says(Say({"events": rows(*"abc")}, headers={"X-Request-Id": "r-2"}))
    seen = SeenEvents()
    with pytest.raises(ProtocolError, match=r"Pages 1 and 2 of .* are the same") as raised:
        bench.rows(DAY, split=split, seen=seen)
    assert len(seen) == 3
    assert raised.value.request_id == "r-2"
    assert raised.value.url
    assert "page=2" in raised.value.url
