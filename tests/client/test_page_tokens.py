"""Tokens of pages and overlapping pulls: nothing is lost, and nothing comes twice."""

import json
import pickle
import subprocess
import sys
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.bench import Bench
from tests.client.notes import Notes
from tests.client.raw_events import raw_rows
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import Client, QuotaPolicy, SeenEvents, errors
from adanalytics_client._events.page import ids_of
from adanalytics_client._events.resume import Position
from adanalytics_client.errors import ConfigurationError, ProtocolError
from adanalytics_client.observers import PageDrift
from adanalytics_server.local import LocalServer

DAY, DATE = date(2026, 1, 15), "2026-01-15"
SIZES = [3, 0, 5, 2, 4] + [1] * 19


def hours(asked: Asked) -> Say:
    """Hours of different sizes and no word about pages: the end shows in their lengths alone."""
    hour, page = int(asked.query["hour"]), int(asked.query["page"])
    names = [f"{hour}-{number}" for number in range(SIZES[hour])]
    return Say({"events": [{"event_id": name} for name in names[page * 2 - 2 : page * 2]]})


def days(asked: Asked) -> Say:
    """The first five of the same sizes, as days: a pull of them costs few requests."""
    day, page = asked.query["start_date"], int(asked.query["page"])
    size = SIZES[(date.fromisoformat(day) - DAY).days]
    names = [f"{day}-{number}" for number in range(size)]
    return Say({"events": [{"event_id": name} for name in names[page * 2 - 2 : page * 2]]})


def ids(found: list[Any]) -> list[str]:
    return [row["event_id"] for page in found for row in page.rows]


def test_every_page_can_be_the_last_of_a_run(bench: Bench) -> None:
    bench.script = days
    variant, end = bench.open(quota=QuotaPolicy(limit=None)), "2026-01-19"
    options: dict[str, Any] = {"per_page": 2, "split": "daily"}
    pages = variant.pages(DATE, end, **options)
    assert len(ids(pages)) == 14
    for at, page in enumerate(pages):
        resumed = variant.pages(DATE, end, resume=page.token, **options)
        assert ids(pages[: at + 1]) + ids(resumed) == ids(pages)
    last = variant.client.events(DATE, end, per_page=2, split="daily", resume=pages[-1].token)
    assert (last.plan.least_requests, last.plan.most_requests) == (0, 0)


def test_a_token_is_a_word_and_short(bench: Bench) -> None:
    bench.script = hours
    page = bench.pages("2026-01-15", per_page=2)[4]
    assert page.token.isascii()
    assert page.token.isprintable()
    assert json.loads(json.dumps(page.token)) == page.token
    assert pickle.loads(pickle.dumps(page)).token == page.token
    assert len(page.token) < 600
    query = bench.client.events("2026-01-15", per_page=2, resume=page.token)
    assert query.plan.least_requests == 24 - page.slice.hour - page.last


def test_max_events_counts_over_all_runs(bench: Bench) -> None:
    bench.script = days
    variant = bench.open()
    options: dict[str, Any] = {"per_page": 2, "max_events": 7, "split": "daily"}
    pages = variant.pages(DATE, "2026-01-19", **options)
    assert len(ids(pages)) == 7
    for at, page in enumerate(pages):
        resumed = variant.pages(DATE, "2026-01-19", resume=page.token, **options)
        assert ids(pages[: at + 1]) + ids(resumed) == ids(pages)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"end": "2026-01-16"}, "2026-01-15..2026-01-16"),
        ({"hour": 3}, "hour 3"),
        ({"split": "daily"}, "daily"),
        ({"per_page": 3}, "3 events per page"),
    ],
)
def test_a_token_of_another_query_is_refused(
    bench: Bench, other: dict[str, Any], words: str
) -> None:
    bench.script = hours
    variant = bench.open()
    token = variant.pages("2026-01-15", per_page=2)[2].token
    bench.asked.clear()
    with pytest.raises(ConfigurationError, match="resume: this token belongs to.*" + words):
        variant.client.events("2026-01-15", **{"per_page": 2, "resume": token, **other})
    with pytest.raises(ConfigurationError, match=r"partner acme.*partner other"):
        bench.open(partner="other").client.events("2026-01-15", per_page=2, resume=token)
    with pytest.raises(ConfigurationError, match="Leave only_days out"):
        variant.client.events("2026-01-15", per_page=2, resume=token).only_days([DAY])
    assert bench.asked == []


@pytest.mark.parametrize("damage", ["", "x", 5, "adanalytics-5.", "cut", "flipped", "earlier"])
def test_a_damaged_token_is_refused(bench: Bench, damage: Any) -> None:
    bench.script = hours
    token = bench.pages("2026-01-15", per_page=2)[2].token
    damaged = {
        "cut": token[:-1],
        "flipped": token[:40] + ("A" if token[40] != "A" else "B") + token[41:],
        "earlier": token.replace("-5.", "-4."),
    }
    with pytest.raises(ConfigurationError, match="not a resume token of this version"):
        bench.client.events("2026-01-15", per_page=2, resume=damaged.get(damage, damage))


def test_only_days_skips_days_and_a_token_remembers_them(bench: Bench) -> None:
    bench.script = lambda _: Say({"events": [{"event_id": len(bench.asked)}], "total": 1})
    for split, requests in (("hourly", 48), ("daily", 2), ("none", 1), ("auto", 1)):
        query = bench.client.events("2026-01-15", "2026-01-20", split=split, check="none")
        some = query.only_days(["2026-01-19", date(2026, 1, 16), "2026-03-01"])
        assert some.plan.least_requests == requests
        assert some.plan.slices[0].start == date(2026, 1, 16)
        assert some.plan.slices[-1].end == date(2026, 1, 19)
        assert some.only_days(["2026-01-17"]).plan.most_requests == 0
        assert query.only_days([]).plan.slices == ()
        with pytest.raises(ConfigurationError, match="is not a day"):
            query.only_days(["soon"])
        for wrong in ("2026-01-16", date(2026, 1, 16), None):
            with pytest.raises(ConfigurationError, match=r"days=.* Pass several days, such as"):
                query.only_days(wrong)
    days = bench.client.events("2026-01-15", "2026-01-20", split="daily", check="none").only_days(
        ["2026-01-16", "2026-01-18", "2026-01-20"]
    )
    first = bench.all_of(days.pages())[0]
    bench.asked.clear()
    bench.pages("2026-01-15", "2026-01-20", split="daily", resume=first.token)
    asked = sorted(each.query["start_date"] for each in bench.asked)
    assert asked == ["2026-01-18", "2026-01-20"]


@pytest.mark.parametrize(
    ("split", "hour", "requests"),
    [
        ("hourly", None, 24 + 15),
        ("hourly", 14, 2),
        ("hourly", 15, 1),
        ("daily", None, 2),
        ("none", None, 1),
    ],
)
def test_only_before_leaves_out_hours_that_have_not_begun(
    bench: Bench, split: str, hour: int | None, requests: int
) -> None:
    bench.script = lambda _: Say({"events": [{"event_id": len(bench.asked)}], "total": 1})
    days = ("2026-01-15", "2026-01-20")
    query = bench.client.events(*days, split=split, hour=hour, check="none")
    now = datetime(2026, 1, 16, 15, 20, tzinfo=timezone(timedelta(hours=1)))
    some = query.only_before(now)
    assert some.plan.least_requests == requests
    first = bench.all_of(some.pages())[0]
    bench.asked.clear()
    bench.pages(*days, split=split, hour=hour, resume=first.token)
    assert len(bench.asked) == requests - 1
    with pytest.raises(ConfigurationError, match="has no time zone"):
        query.only_before(datetime(2026, 1, 16))  # noqa: DTZ001  # that is the mistake


class OtherDay(date):
    pass


class OtherTime(datetime):
    """A time as those of pendulum, which Airflow passes to its tasks."""

    def date(self) -> date:
        return OtherDay(self.year, self.month, self.day)


def test_a_time_may_be_of_another_class(reference_variant: Variant) -> None:
    days = ("2026-01-15", "2026-01-16")
    query = reference_variant.client.events(*days, split="daily", per_page=1000)
    some = query.only_before(OtherTime(2026, 1, 15, 12, tzinfo=UTC))
    first, last = reference_variant.all_of(some.pages())
    (rest,) = reference_variant.pages(*days, split="daily", resume=first.token)
    assert rest.rows == last.rows


@pytest.mark.parametrize("split", ["hourly", "daily", "none", "auto"])
@pytest.mark.parametrize("day", [14, 15])
def test_hours_and_days_that_were_left_out_are_not_missing(
    reference_variant: Variant, tmp_path: Path, day: int, split: str
) -> None:
    """The service has events of 2026-01-15 and 16."""
    variant, noon = reference_variant, datetime(2026, 1, day, 12, tzinfo=UTC)
    query = variant.client.events("2026-01-14", "2026-01-16", split=split, check="always")
    # Without hours, whole days are requested.
    end = noon + timedelta(hours=1 if split == "hourly" else 12)
    events = [row for row in variant.all_of(query.rows()) if row["event_time"] < f"{end:%FT%H}"]
    some = query.only_before(noon).only_before(noon + timedelta(days=30))
    assert variant.on(some, "write", tmp_path / "some.jsonl") == len(events)
    none = query.only_days(["2026-01-14"])
    assert variant.on(none, "write", tmp_path / "none.jsonl") == 0


def test_another_process_goes_on(reference: LocalServer) -> None:
    code = """
import sys
from adanalytics_client import Client
url, key, token = sys.argv[1:]
with Client(url, api_key=key, partner="acme") as client:
    query = client.events("2026-01-15", per_page=40, resume=token or None)
    for at, page in enumerate(query.pages()):
        for row in page.rows:
            print("row", row["event_id"])
        print("token", page.token)
        if at == 30 and not token:
            break
"""

    def run(token: str) -> list[tuple[str, str]]:
        command = [sys.executable, "-c", code, reference.url, reference.api_key, token]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return [
            (kind, text) for kind, _, text in (x.partition(" ") for x in done.stdout.split("\n"))
        ]

    first = run("")
    second = run(next(text for kind, text in reversed(first) if kind == "token"))
    found = [text for kind, text in first + second if kind == "row"]
    assert len(found) == len(set(found)) == 1_500


HOUR: dict[str, Any] = {"hour": 3, "per_page": 10}


def named(*names: str) -> list[dict[str, str]]:
    return [{"event_id": each} for each in names]


def numbered(count: int) -> list[dict[str, str]]:
    return named(*(f"e{at}" for at in range(count)))


def rows_of(pages: list[Any]) -> list[dict[str, Any]]:
    return [row for page in pages for row in page.rows]


@pytest.mark.parametrize("first", [1, 10, 15, 20, 24, 25, 26])
@pytest.mark.parametrize("then", [26, None])
@pytest.mark.parametrize("totals", [True, False])
def test_events_behind_max_events_come_later(
    bench: Bench, first: int, then: int | None, totals: bool
) -> None:
    """A page that `max_events` cut comes again as a whole."""
    drifts = Notes()
    variant = bench.open(observer=drifts)
    bench.holds(numbered(25), totals=totals)
    pages = variant.pages(DATE, max_events=first, **HOUR)
    assert len(rows_of(pages)) == min(first, 25)
    rest = variant.pages(DATE, max_events=then, resume=pages[-1].token, **HOUR)
    cut = first % 10 if first < 25 else 0
    assert rows_of(rest) == numbered(25)[min(first, 25) - cut :]
    assert drifts.of(PageDrift) == []


def test_pages_of_text_are_the_same(bench: Bench) -> None:
    bench.holds(numbered(25))
    query = bench.client.events(DATE, max_events=15, check="none", **HOUR)
    pages = bench.all_of(query.text_pages())
    query = bench.client.events(DATE, resume=pages[-1].token, check="none", **HOUR)
    pages += bench.all_of(query.text_pages())
    assert [page.events for page in pages] == [10, 5, 10, 5]
    assert b"".join(page.jsonl for page in pages).count(b"\n") == 30


def test_days_and_hours_behind_a_cut_page(bench: Bench) -> None:
    def script(asked: Asked) -> Say:
        hour, page = int(asked.query["hour"]), int(asked.query["page"])
        names = [f"{hour}-{at}" for at in range(hour % 4)][page * 3 - 3 : page * 3]
        return Say({"events": named(*names)})

    bench.script = script
    whole = rows_of(bench.pages(DATE, per_page=3))
    assert len(whole) == 36
    for first in range(3, 36, 5):
        pages = bench.pages(DATE, per_page=3, max_events=first)
        rest = bench.pages(DATE, per_page=3, resume=pages[-1].token, concurrency=1)
        assert rows_of(rest) in (whole[first:], whole[first - len(pages[-1]) :])


@pytest.mark.parametrize("first", [5, 9])
def test_events_of_a_cut_page_that_are_known_come_once(bench: Bench, first: int) -> None:
    bench.holds(numbered(25))
    seen = SeenEvents(["e0", "e3", "e4", "e12"])
    pages = bench.pages(DATE, max_events=first, seen=seen, **HOUR)
    assert len(rows_of(pages)) == first
    rest = bench.pages(DATE, resume=pages[-1].token, seen=seen, **HOUR)
    last = numbered(25).index(rows_of(pages)[-1])
    assert rows_of(rest) == [row for row in numbered(25)[last + 1 :] if row["event_id"] != "e12"]


@pytest.mark.parametrize("asked", [None, 10, 500])
@pytest.mark.parametrize("then", [{}, {"max_events": 20}, {"max_events": 10}])
def test_a_token_brings_the_size_of_its_pages(
    bench: Bench, asked: int | None, then: dict[str, int]
) -> None:
    """`max_events` alone makes pages smaller; where a size was given, it is that."""
    bench.holds(numbered(25))
    pages = bench.pages(DATE, hour=3, max_events=10, per_page=asked)
    size = asked or 10
    assert rows_of(pages) == numbered(10)
    for per_page in (None, size):
        bench.asked.clear()
        query = bench.client.events(
            DATE, hour=3, resume=pages[-1].token, per_page=per_page, check="none", **then
        )
        assert query.plan.per_page == size
        rest = bench.all_of(query.pages())
        # Of 25 events on a page of 500, ten were asked for: the page comes again.
        assert rows_of(rest) == numbered(25)[0 if size == 500 else 10 : then.get("max_events")]
        assert {each.query["per_page"] for each in bench.asked} <= {str(size)}
        most = query.plan.most_requests
        assert query.plan.least_requests <= len(bench.asked) <= (99 if most is None else most)


def test_a_finished_pull_asks_for_nothing(bench: Bench) -> None:
    bench.holds(numbered(25))
    token = bench.pages(DATE, max_events=5)[-1].token
    query = bench.client.events(DATE, max_events=5, resume=token)
    assert (query.plan.least_requests, query.plan.most_requests) == (0, 0)
    assert query.plan.max_events == 0
    bench.asked.clear()
    assert bench.all_of(query.pages()) == []
    assert bench.asked == []


def test_a_resumed_slice_that_is_short_is_an_error(bench: Bench) -> None:
    """Which events the earlier run handed out is not known, so they cannot be asked again."""
    stored = numbered(25)
    bench.holds(stored)
    token = bench.pages(DATE, **HOUR)[0].token
    stored[0:0] = numbered(28)[25:]
    del stored[:6]
    bench.asked.clear()
    with pytest.raises(ProtocolError, match="not known which are missing"):
        bench.rows(DATE, resume=token, **HOUR)
    assert len(bench.asked) == 3


def test_runs_of_one_page_reach_the_error_of_a_short_slice(bench: Bench) -> None:
    """A page without events, if it came before the error, would be the only one of each run."""

    def one_of_two(asked: Asked) -> Say:
        rows = [{"event_id": "e-1"}] if asked.query["page"] == "1" else []
        return Say({"data": rows, "meta": {"total": 2}})

    bench.script = one_of_two
    first = bench.first(bench.client.events(DATE, split="daily").pages())
    query = bench.client.events(DATE, split="daily", resume=first.token)
    with pytest.raises(ProtocolError, match="counts 2 events in 2026-01-15, but 1 arrived"):
        bench.first(query.pages())


FIRST, SECOND = "2026-01-15", "2026-01-16"


ID_TEXTS = [
    *('"a"', '"b"', '"c,d"', '"},{\\"event_id\\":\\"e"', '"},{"', '"\\u00e9"', '"é"', "7", "-0"),
    *("1" * 30, "1.5", "null", "true", '""', "[1,2]", '["f"]', '{"event_id":"x"}', '"a,"', '",a"'),
]
MEMBERS = st.sampled_from(["", '"os":"ios"', '"n":"},{"', ' "event_idx" : 5 '])
EVENTS = st.tuples(MEMBERS, st.sampled_from(ID_TEXTS), MEMBERS)


@settings(max_examples=300, deadline=None)
@given(st.lists(EVENTS, min_size=1, max_size=4), st.booleans())
def test_ids_are_those_of_whole_events(events: list[tuple[str, str, str]], in_front: bool) -> None:
    """In front of an event they are read without the rest, if no comma or name deceives."""
    texts = []
    for first, value, last in events:
        members = filter(None, ["" if in_front else first, f'"event_id":{value}', last])
        texts.append(f"{{{','.join(members)}}}".encode())
    ids = [json.loads(text)["event_id"] for text in texts]
    expected = [
        each if isinstance(each, str | int) and each not in {"", True} else None for each in ids
    ]
    assert ids_of(raw_rows(texts)) == expected


@pytest.fixture
def pages_of_two(stand_in: StandIn) -> StandIn:
    """A day has six events on three pages; the last of them has no id."""

    def script(asked: Asked) -> Say:
        day, page = asked.query["start_date"], int(asked.query["page"])
        ids = [{"event_id": f"{day} {number}"} for number in range(1, 6)]
        rows = [*ids, {"nameless": day}][page * 2 - 2 : page * 2]
        return Say({"events": rows, "has_more": page < 3})

    stand_in.script = script
    return stand_in


def test_overlapping_pulls(variant: Variant, pages_of_two: StandIn) -> None:
    seen = SeenEvents()
    both = variant.rows(FIRST, SECOND, split="daily", seen=seen)
    assert (len(both), len(seen), seen.repeated) == (12, 10, 0)
    seen = pickle.loads(pickle.dumps(seen))
    assert variant.rows(SECOND, split="none", seen=seen) == [{"nameless": SECOND}]
    assert (seen.repeated, seen.forgotten) == (5, 0)
    assert len(pages_of_two.asked) == 12
    assert f"{FIRST} 1" in seen
    assert "another" not in seen


def test_every_form_leaves_out_the_same(
    variant: Variant, pages_of_two: StandIn, tmp_path: Path
) -> None:
    def seen() -> SeenEvents:
        return SeenEvents([f"{FIRST} {number}" for number in (2, 3, 4)])

    def query() -> Any:
        return variant.client.events(FIRST, split="none", check="none", seen=seen())

    left = [f"{FIRST} 1", f"{FIRST} 5", None]
    assert [row.get("event_id") for row in variant.all_of(query().rows())] == left
    assert [event.event_id for event in variant.all_of(query())] == left
    assert variant.on(query(), "to_arrow")["event_id"].to_pylist() == left
    assert variant.on(query(), "write", tmp_path / "x.jsonl") == 3
    lines = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [line.get("event_id") for line in lines] == left
    assert [len(page) for page in variant.all_of(query().pages())] == [1, 0, 2, 0]
    assert [len(page) for page in variant.all_of(query().text_pages())] == [1, 0, 2, 0]


def test_max_events_counts_what_is_left(variant: Variant, pages_of_two: StandIn) -> None:
    seen = SeenEvents([f"{FIRST} {number}" for number in (1, 2, 3)])
    rows = variant.rows(FIRST, SECOND, split="daily", max_events=4, seen=seen)
    wanted = [f"{FIRST} 4", f"{FIRST} 5", None, f"{SECOND} 1"]
    assert [row.get("event_id") for row in rows] == wanted
    assert f"{SECOND} 2" not in seen, "it came on the page, but was not handed out"
    assert len(pages_of_two.asked) == 5
    assert {asked.query["per_page"] for asked in pages_of_two.asked} == {"10000"}


def test_a_token_and_what_was_seen(variant: Variant, pages_of_two: StandIn) -> None:
    seen = SeenEvents([f"{FIRST} 1"])
    page = variant.pages(FIRST, split="none", seen=seen)[0]
    rest = variant.rows(FIRST, split="none", resume=page.token, seen=SeenEvents(), max_events=3)
    # One of the three was handed out before the token.
    assert [row.get("event_id") for row in rest] == [f"{FIRST} 3", f"{FIRST} 4"]


def test_events_that_share_an_id_on_other_pages_are_kept(bench: Bench) -> None:
    """An id that an impression and its click share is of both, also when a page lies between."""
    kinds = ["ad_request", "impression", "click", "complete"]
    bench.holds([{"event_id": "auction", "event_type": kind} for kind in kinds], size=2)
    seen = SeenEvents()
    assert len(bench.rows(FIRST, split="none", per_page=2, seen=seen)) == 4
    assert ("auction" in seen, seen.repeated) == (True, 0)
    later = SeenEvents()
    later.merge(pickle.loads(pickle.dumps(seen)))
    for events in (seen, later):
        assert bench.rows(FIRST, split="none", per_page=2, seen=events) == []
        assert events.repeated == 4


def test_events_that_a_loop_did_not_reach_come_again(pages_of_two: StandIn) -> None:
    seen = SeenEvents()
    with Client(pages_of_two.url, api_key="k", partner="acme") as client:
        query = client.events(FIRST, split="none", check="none", seen=seen)
        with closing(query.rows()) as rows:
            began = [next(rows)["event_id"] for _ in range(3)]
        assert began == [f"{FIRST} {number}" for number in (1, 2, 3)]
        assert [row.get("event_id") for row in query.rows()] == [
            *(f"{FIRST} {number}" for number in (3, 4, 5)),
            None,
        ]


def test_a_file_that_was_not_finished_counts_for_nothing(
    open_variant: OpenVariant, pages_of_two: StandIn, tmp_path: Path
) -> None:
    variant, seen, script = open_variant(), SeenEvents(), pages_of_two.script
    pages_of_two.script = lambda asked: (
        Say(status=400) if asked.query["page"] == "3" else script(asked)
    )
    query = variant.client.events(FIRST, split="none", check="none", seen=seen)
    with pytest.raises(errors.InvalidRequest):
        variant.on(query, "write", tmp_path / "x.jsonl")
    with pytest.raises(errors.InvalidRequest):
        variant.on(query, "to_arrow")
    assert len(seen) == 0
    pages_of_two.script = script
    assert variant.on(query, "write", tmp_path / "x.jsonl") == 6
    assert len(seen) == 5


def test_memory_is_bounded() -> None:
    seen = SeenEvents((str(number) for number in range(10)), most=4)
    assert (len(seen), seen.forgotten) == (4, 6)
    assert [str(number) for number in range(10) if str(number) in seen] == list("6789")
    assert repr(seen) == "SeenEvents(4 of at most 4 ids)"
    with pytest.raises(errors.ConfigurationError, match="most=0"):
        SeenEvents(most=0)


def test_seen_must_be_seen_events(bench: Bench) -> None:
    with pytest.raises(
        errors.ConfigurationError, match=r"seen=set is not valid\. Pass a SeenEvents"
    ):
        bench.client.events(FIRST, seen=set())
    assert bench.asked == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([None], "an id is a str or an int, not None"),
        ([1.5], "not 1.5"),
        ([True], "not True"),
        ("abc", "'abc' is not valid. Pass a list"),
        (5, "5"),
    ],
)
def test_a_wrong_id_is_refused(wrong: Any, words: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=f"event_ids.*{words}"):
        SeenEvents(wrong)
    seen = SeenEvents(["a"])
    with pytest.raises(errors.ConfigurationError, match=words):
        seen.add(wrong)
    assert [None in seen, 1 in seen, "a" in seen] == [False, False, True]


def test_ids_that_are_numbers(bench: Bench) -> None:
    """A number and the text of it are two ids."""
    bench.says(Say({"events": [{"event_id": each} for each in (1, "1", 2)], "total": 3}))
    seen = SeenEvents(["1"])
    assert [row["event_id"] for row in bench.rows(FIRST, split="none", seen=seen)] == [1, 2]
    assert bench.rows(FIRST, split="none", seen=seen) == []
    assert (len(seen), seen.repeated, 2 in seen, "2" in seen) == (3, 4, True, False)


@pytest.mark.parametrize("row", [{"eventKey": "a", "os": "x"}, {"event_id": 1.5, "os": "x"}])
def test_pages_without_any_id_are_logged_once(
    bench: Bench, row: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.script = lambda asked: Say({"events": [{**row, "page": asked.query["page"]}], "total": 3})
    assert len(bench.rows(FIRST, split="none", seen=SeenEvents())) == 3
    (words,) = caplog.messages
    assert "no event of page 1 of 2026-01-15 has an event_id" in words
    assert f"The first one has: {', '.join(row)}, page." in words


def test_a_token_from_before_days_were_cut_is_compared() -> None:
    assert msgspec.json.decode(b"{}", type=Position).cut_day == date.max
