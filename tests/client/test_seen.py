"""Pulls that overlap bring each event once, and what was not handed out comes again."""

import json
import pickle
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.raw_events import raw_rows
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import Client, SeenEvents, errors
from adanalytics_client._events.page import ids_of

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


def test_events_that_share_an_id_on_other_pages_are_kept(
    variant: Variant, stand_in: StandIn
) -> None:
    """An id that an impression and its click share is of both, also when a page lies between."""

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        kinds = ["ad_request", "impression", "click", "complete"][page * 2 - 2 : page * 2]
        rows = [{"event_id": "auction", "event_type": kind} for kind in kinds]
        return Say({"events": rows, "total": 4})

    stand_in.script = script
    seen = SeenEvents()
    assert len(variant.rows(FIRST, split="none", per_page=2, seen=seen)) == 4
    assert ("auction" in seen, seen.repeated) == (True, 0)
    later = SeenEvents()
    later.merge(pickle.loads(pickle.dumps(seen)))
    for events in (seen, later):
        assert variant.rows(FIRST, split="none", per_page=2, seen=events) == []
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


def test_seen_must_be_seen_events(variant: Variant, stand_in: StandIn) -> None:
    with pytest.raises(
        errors.ConfigurationError, match=r"seen=set is not valid\. Pass a SeenEvents"
    ):
        variant.client.events(FIRST, seen=set())
    assert stand_in.asked == []


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


def test_ids_that_are_numbers(variant: Variant, stand_in: StandIn) -> None:
    """A number and the text of it are two ids."""
    stand_in.says(Say({"events": [{"event_id": each} for each in (1, "1", 2)], "total": 3}))
    seen = SeenEvents(["1"])
    assert [row["event_id"] for row in variant.rows(FIRST, split="none", seen=seen)] == [1, 2]
    assert variant.rows(FIRST, split="none", seen=seen) == []
    assert (len(seen), seen.repeated, 2 in seen, "2" in seen) == (3, 4, True, False)


@pytest.mark.parametrize("row", [{"eventKey": "a", "os": "x"}, {"event_id": 1.5, "os": "x"}])
def test_pages_without_any_id_are_logged_once(
    variant: Variant, stand_in: StandIn, row: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stand_in.script = lambda asked: Say(
        {"events": [{**row, "page": asked.query["page"]}], "total": 3}
    )
    assert len(variant.rows(FIRST, split="none", seen=SeenEvents())) == 3
    (words,) = caplog.messages
    assert "no event of page 1 of 2026-01-15 has an event_id" in words
    assert f"The first one has: {', '.join(row)}, page." in words
