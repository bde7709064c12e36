"""Pages that move while they are read: repeats are left out, and nobody is left in the dark."""

from __future__ import annotations

import logging
import pickle
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adanalytics_client import Observer, PageDrift, _drift
from adanalytics_client._fanout import Fanout
from adanalytics_client._lines import Lines
from adanalytics_client._pages import fetched
from adanalytics_client._plan import make_plan
from adanalytics_client._rows import Found
from adanalytics_server.local import LocalServer, Sample

if TYPE_CHECKING:
    from tests.client.conftest import Asked, OpenWorld, Say, StandIn, World

DAY = "2026-01-15"


class Noted(Observer):
    def __init__(self) -> None:
        self.drifts: list[PageDrift] = []

    def drift(self, info: PageDrift) -> None:
        self.drifts.append(info)


@settings(max_examples=150, deadline=None)
@given(
    size=st.integers(2, 6),
    count=st.integers(0, 30),
    arrivals=st.lists(st.integers(0, 5), max_size=12),
    totals=st.booleans(),
)
def test_repeats_are_left_out_and_what_is_missing_is_told(
    size: int, count: int, arrivals: list[int], totals: bool
) -> None:
    """Events arrive in front of all others between the pages."""
    stored = [f"e{number}" for number in range(count)]
    waiting, came, told = list(arrivals), list[str](), list[PageDrift]()
    plan = make_plan(date(2026, 1, 15), date(2026, 1, 15), split="none")
    fanout = Fanout(plan, concurrency=1, ordered=True, drifted=told.append)
    while not fanout.finished:
        if (cursor := fanout.start()) is not None:
            first = (cursor.number - 1) * size
            texts = [f'{{"event_id":"{each}"}}' for each in stored[first : first + size]]
            says = {"has_more": first + size < len(stored)} | (
                {"total": len(stored)} if totals else {}
            )
            found = Found(Lines.of([*map(str.encode, texts)]) if texts else [], (says,))
            fanout.settle(cursor, fetched(found, {}))
            # A whole page of arrivals would make the next page the same as this one.
            new = min(waiting.pop(0), size - 1) if waiting else 0
            stored[:0] = [f"late{len(stored)}-{number}" for number in range(new)]
        while (turned := fanout.ready()) is not None:
            came += [row["event_id"] for row in turned.page.rows()]
    assert len(came) == len(set(came))
    assert set(came) >= {f"e{number}" for number in range(count)}
    repeated = sum(each.repeated for each in told)
    if repeated:
        assert [each for each in told if each.repeated]
    if totals and told and told[-1].last:
        assert told[-1].distinct == len(came)
    if not totals:
        assert all(each.repeated for each in told)


PAGE = 1000


@settings(max_examples=60, deadline=None)
@given(late=st.integers(1, PAGE - 1), behind=st.integers(1, PAGE))
@example(late=PAGE - 1, behind=1)
@example(late=1, behind=PAGE)
def test_late_events_anywhere_on_a_page_are_noticed(late: int, behind: int) -> None:
    """They arrive in front of the last events of a page, and nothing tells how many there are."""
    first = [f"e{number}" for number in range(PAGE)]
    second = [*(f"late{number}" for number in range(late)), *first[-behind:]][-late:]
    second += [f"n{number}" for number in range(PAGE - len(second))]
    plan = make_plan(date(2026, 1, 15), date(2026, 1, 15), split="none")
    told, came = list[PageDrift](), list[str]()
    fanout = Fanout(plan, concurrency=1, ordered=True, drifted=told.append)
    for ids, more in ((first, True), (second, False)):
        cursor = fanout.start()
        assert cursor is not None
        lines = Lines.of([b'{"event_id":"%b"}' % each.encode() for each in ids])
        fanout.settle(cursor, fetched(Found(lines, ({"has_more": more},)), {}))
        turned = fanout.ready()
        assert turned is not None
        came += [row["event_id"] for row in turned.page.rows()]
    assert came == [*first, *(each for each in second if each not in first)]
    assert [each.repeated for each in told] == [len({*first} & {*second})]


@pytest.mark.parametrize("dialect", ["reference", "bare"])
def test_the_faults_of_the_server(
    dialect: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, open_world: OpenWorld
) -> None:
    with LocalServer(sample=Sample(events_per_day=1_000), dialect=dialect) as server:
        noted = Noted()
        world = open_world(server.url, api_key=server.api_key, observer=noted, limit=None)
        options: dict[str, Any] = {"split": "none", "per_page": 100}
        clean = [row["event_id"] for row in world.rows(DAY, **options)]
        assert noted.drifts == []
        assert len(set(clean)) == 1_000
        server.faults.add("page drift 3 always")
        pages = world.pages(DAY, **options)
        assert [row["event_id"] for page in pages for row in page.rows] == clean
        assert [page.drift for page in pages if page.drift] == noted.drifts
        assert [each.repeated for each in noted.drifts if each.repeated] == [3]
        assert [str(each) for each in noted.drifts] == caplog.messages
        assert "3 events again, left out here" in caplog.text
        assert pickle.loads(pickle.dumps(noted.drifts[0])) == noted.drifts[0]
        query = world.client.events(DAY, **options)
        assert world.on(query, "write", tmp_path / "day.jsonl") == 1_000
        # Only the third page moves: three events are on no page, which a total can tell.
        server.faults.clear()
        server.faults.add("page drift 3 once on events after 2")
        assert len({row["event_id"] for row in world.rows(DAY, **options)}) == 997
        last = noted.drifts[-1]
        if dialect == "reference":
            assert (last.last, last.distinct, last.total) == (True, 997, 1_000)


def test_a_sum_that_is_wrong_is_a_warning(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], caplog: pytest.LogCaptureFixture
) -> None:
    noted = Noted()
    world = open_world(observer=noted)
    stand_in.says(say({"events": [{"event_id": "a"}], "total": 2, "has_more": False}))
    (page,) = world.pages(DAY, split="none")
    assert page.drift == PageDrift(DAY, 1, 0, 1, 2, last=True)
    assert noted.drifts == [page.drift]
    told = (
        "Page 1 of 2026-01-15 is the last, but the service counts 2 events and 1 came; "
        "the data changed meanwhile. Pull 2026-01-15 again to be sure."
    )
    assert caplog.messages == [told]


def numbered(say: type[Say], counts: list[int]) -> Any:
    """Page n of as many events as there are by then, two on a page."""

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        count = counts[page - 1]
        rows = [{"event_id": f"e{at}"} for at in range(page * 2 - 2, min(page * 2, count))]
        return say({"events": rows, "total": count})

    return script


def test_events_that_come_at_the_end_are_no_drift(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], caplog: pytest.LogCaptureFixture
) -> None:
    stand_in.script = numbered(say, [4, 5, 5])
    rows = open_world().rows(DAY, split="none")
    assert [row["event_id"] for row in rows] == ["e0", "e1", "e2", "e3", "e4"]
    assert caplog.messages == []


def test_events_that_go_while_they_are_counted_are_told(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], caplog: pytest.LogCaptureFixture
) -> None:
    """An hour that is replaced by less: what moved up to pages that were read is on no other."""
    stored = [f"e{at}" for at in range(6)]

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        del stored[: 2 if page == 2 else 0]
        rows = [{"event_id": each} for each in stored[page * 2 - 2 : page * 2]]
        return say({"events": rows, "total": len(stored)})

    stand_in.script = script
    noted = Noted()
    rows = open_world(observer=noted).rows(DAY, split="none")
    assert [row["event_id"] for row in rows] == ["e0", "e1", "e4", "e5"]
    assert noted.drifts == [PageDrift(DAY, 2, 0, 4, 4, last=True)]
    told = (
        "Page 2 of 2026-01-15 is of fewer events in all than the page before; "
        "the data changed meanwhile. Pull 2026-01-15 again to be sure."
    )
    assert caplog.messages == [told]


def test_events_without_an_id_are_never_left_out(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        return say({"events": [{"n": 1}, {"n": page}, {"n": 1}], "has_more": page < 3})

    stand_in.script = script
    assert len(world.rows(DAY, split="none")) == 9


def test_pages_without_a_sign_are_not_read_closely(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in.script = numbered(say, [6, 6, 6])
    closely: list[Any] = []
    monkeypatch.setattr(_drift, "ids_of", lambda *args: closely.append(args))
    query = world.client.events(DAY, split="none")
    assert world.on(query, "write", tmp_path / "day.jsonl") == 6
    assert closely == []


@pytest.mark.parametrize("form", [str, int])
def test_ids_that_are_numbers_are_ids(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], form: Any
) -> None:
    stored = [*range(6)]

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        stored[:0] = [99] if page == 2 else []
        rows = [{"event_id": form(each)} for each in stored[page * 2 - 2 : page * 2]]
        return say({"events": rows, "has_more": page * 2 < len(stored)})

    stand_in.script = script
    noted = Noted()
    rows = open_world(observer=noted).rows(DAY, split="none")
    assert [row["event_id"] for row in rows] == [*map(form, range(6))]
    assert [(each.number, each.repeated, each.alike) for each in noted.drifts] == [(2, 1, False)]


@pytest.mark.parametrize("totals", [True, False])
@pytest.mark.parametrize("resumed", [True, False])
def test_events_without_an_id_that_seem_to_come_again_are_told_once(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    caplog: pytest.LogCaptureFixture,
    totals: bool,
    resumed: bool,
) -> None:
    stored = [*range(6)]

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        stored[:0] = [90 + page] if page > 1 else []
        rows = [{"eventId": each} for each in stored[page * 2 - 2 : page * 2]]
        says = {"total": len(stored)} if totals else {}
        return say({"events": rows, "has_more": page * 2 < len(stored), **says})

    stand_in.script = script
    noted = Noted()
    world = open_world(observer=noted)
    if resumed:
        token = world.pages(DAY, split="none", max_events=2, per_page=2)[0].token
        pages = world.pages(DAY, split="none", per_page=2, resume=token)
    else:
        pages = world.pages(DAY, split="none", per_page=2)[1:]
    assert [row["eventId"] for row in pages[0].rows] == [1, 2]
    assert [(each.number, each.repeated, each.alike) for each in noted.drifts] == [(2, 0, True)]
    assert "seems to bring events again, left in as they have no event_id" in caplog.text


@pytest.mark.parametrize("form", [str, int])
@pytest.mark.parametrize("late", [1, 7, 32])
def test_a_token_knows_what_comes_again(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    caplog: pytest.LogCaptureFixture,
    late: int,
    form: Any,
) -> None:
    """Between two runs events arrive in front; 40 on a page."""
    stored = [form(at) for at in range(200)]

    def script(asked: Asked) -> Say:
        end = int(asked.query["page"]) * 40
        rows = [{"event_id": each} for each in stored[end - 40 : end]]
        return say({"events": rows, "has_more": end < len(stored)})

    stand_in.script = script
    pages = world.pages(DAY, split="none")
    stored[:0] = [form(1_000 + at) for at in range(late)]
    with caplog.at_level(logging.WARNING):
        rest = world.pages(DAY, split="none", resume=pages[1].token)
    found = [row["event_id"] for page in [*pages[:2], *rest] for row in page.rows]
    assert found == stored[late:]
    assert rest[0].drift.repeated == late
    assert "again, left out here" in caplog.text
