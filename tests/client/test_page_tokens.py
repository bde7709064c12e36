"""Tokens of pages: going on after any page loses nothing and repeats nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import random
import subprocess
import sys
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adanalytics_client import _position
from adanalytics_client._fanout import Fanout
from adanalytics_client._pages import Cursor, Fetched, fetched
from adanalytics_client._plan import make_plan
from adanalytics_client._position import Position, position_of, token_of
from adanalytics_client._rows import find_rows
from adanalytics_client.errors import ConfigurationError

if TYPE_CHECKING:
    from tests.client.conftest import Asked, OpenWorld, Say, StandIn, World

    from adanalytics_server.local import LocalServer

DAY = date(2026, 1, 15)
PLAN = make_plan(DAY, DAY)
SIZES = [3, 0, 5, 2, 4] + [1] * 19


def page_of(sizes: list[int], cursor: Cursor) -> Fetched:
    """Page `cursor.number` of a slice whose pages have these sizes."""
    at, hour = cursor.number - 1, cursor.slice.hour or 0
    rows = [{"id": (hour, at, each)} for each in range(sizes[at])]
    return fetched(find_rows({"events": rows, "has_more": at + 1 < len(sizes)}), {})


@settings(max_examples=60, deadline=None)
@given(
    script=st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=4), min_size=24, max_size=24),
    concurrency=st.integers(1, 5),
    ordered=st.booleans(),
    stops=st.lists(st.integers(1, 12), max_size=12),
    seed=st.integers(0, 9999),
)
def test_runs_that_stop_anywhere_are_one_pull(
    script: list[list[int]], concurrency: int, ordered: bool, stops: list[int], seed: int
) -> None:
    """Pages arrive in any order, each run stops after some of them, the last one does not."""
    chance = random.Random(seed)
    out: list[tuple[int, int, int]] = []
    begin: Position | None = None
    for stop in [*stops, None]:
        fanout = Fanout(PLAN, concurrency=concurrency, ordered=ordered, begin=begin)
        flying: list[Cursor] = []
        handed = 0
        while not fanout.finished and handed != stop:
            while (cursor := fanout.start()) is not None:
                flying.append(cursor)
            if (turned := fanout.ready()) is not None:
                out += [row["id"] for row in turned.page.rows()]
                begin = position_of(token_of(turned.left, PLAN, "acme"), PLAN, "acme")
                handed += 1
            else:
                cursor = flying.pop(chance.randrange(len(flying)))
                fanout.settle(cursor, page_of(script[cursor.slice.hour or 0], cursor))
    expected = [
        (hour, at, each)
        for hour, sizes in enumerate(script)
        for at, size in enumerate(sizes)
        for each in range(size)
    ]
    assert (out if ordered else sorted(out)) == expected


def hours(asked: Asked, say: type[Say]) -> Say:
    """Hours of different sizes and no word about pages: the end shows in their lengths alone."""
    hour, page = int(asked.query["hour"]), int(asked.query["page"])
    names = [f"{hour}-{number}" for number in range(SIZES[hour])]
    return say({"events": [{"event_id": name} for name in names[page * 2 - 2 : page * 2]]})


def ids(found: list[Any]) -> list[str]:
    return [row["event_id"] for page in found for row in page.rows]


@pytest.mark.parametrize("ordered", [True, False])
def test_every_page_can_be_the_last_of_a_run(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], ordered: bool
) -> None:
    stand_in.script = lambda asked: hours(asked, say)
    world = open_world(limit=None)
    pages = world.pages("2026-01-15", ordered=ordered, per_page=2)
    for at, page in enumerate(pages):
        resumed = world.pages("2026-01-15", ordered=ordered, per_page=2, resume=page.token)
        assert sorted(ids(pages[: at + 1]) + ids(resumed)) == sorted(ids(pages))
        if ordered:
            assert ids(pages[: at + 1]) + ids(resumed) == ids(pages)
    last = world.client.events("2026-01-15", per_page=2, resume=pages[-1].token)
    assert (last.plan.least_requests, last.plan.most_requests) == (0, 0)


def test_a_token_is_a_word_and_short(world: World, stand_in: StandIn, say: type[Say]) -> None:
    stand_in.script = lambda asked: hours(asked, say)
    page = world.pages("2026-01-15", per_page=2)[4]
    assert page.token.isascii()
    assert page.token.isprintable()
    assert json.loads(json.dumps(page.token)) == page.token
    assert pickle.loads(pickle.dumps(page)).token == page.token
    assert len(page.token) < 600
    query = world.client.events("2026-01-15", per_page=2, resume=page.token)
    assert query.plan.least_requests == 24 - page.slice.hour - page.last


def test_max_events_counts_over_all_runs(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.script = lambda asked: hours(asked, say)
    world = open_world()
    options: dict[str, Any] = {"per_page": 2, "max_events": 7}
    pages = world.pages("2026-01-15", **options)
    assert len(ids(pages)) == 7
    for at, page in enumerate(pages):
        resumed = world.pages("2026-01-15", resume=page.token, **options)
        assert ids(pages[: at + 1]) + ids(resumed) == ids(pages)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"end": "2026-01-16"}, "2026-01-15..2026-01-16"),
        ({"hour": 3}, "hour 3"),
        ({"split": "daily"}, "daily"),
        ({"per_page": 3}, "3 events a page"),
    ],
)
def test_a_token_of_another_query_is_refused(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    other: dict[str, Any],
    told: str,
) -> None:
    stand_in.script = lambda asked: hours(asked, say)
    world = open_world()
    token = world.pages("2026-01-15", per_page=2)[2].token
    stand_in.asked.clear()
    with pytest.raises(ConfigurationError, match="resume: this token belongs to.*" + told):
        world.client.events("2026-01-15", **{"per_page": 2, "resume": token, **other})
    with pytest.raises(ConfigurationError, match=r"partner acme.*partner other"):
        open_world(partner="other").client.events("2026-01-15", per_page=2, resume=token)
    with pytest.raises(ConfigurationError, match="leave only_days out"):
        world.client.events("2026-01-15", per_page=2, resume=token).only_days([DAY])
    assert stand_in.asked == []


@pytest.mark.parametrize(
    "damage", ["", "x", 5, "adanalytics-1.", "cut", "flipped", "adanalytics-2"]
)
def test_what_is_no_token_is_refused(
    world: World, stand_in: StandIn, say: type[Say], damage: Any
) -> None:
    stand_in.script = lambda asked: hours(asked, say)
    token = world.pages("2026-01-15", per_page=2)[2].token
    damaged = {
        "cut": token[:-1],
        "flipped": token[:40] + ("A" if token[40] != "A" else "B") + token[41:],
        "adanalytics-2": token.replace("-1.", "-2."),
    }
    with pytest.raises(ConfigurationError, match="no resume token of this version"):
        world.client.events("2026-01-15", per_page=2, resume=damaged.get(damage, damage))


def test_a_token_of_an_earlier_version_goes_on(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.script = lambda asked: hours(asked, say)
    pages = world.pages("2026-01-15", per_page=2)
    at, token = 3, pages[3].token
    plan = make_plan(DAY, DAY, per_page=2)
    content = _position._content(token)
    content |= {"largest": 2, "open": [each[:9] for each in content["open"]]}
    text = json.dumps(content).encode()
    packed = base64.urlsafe_b64encode(hashlib.blake2b(text, digest_size=6).digest() + text)
    old = f"adanalytics-1.{packed.decode().rstrip('=')}"
    assert position_of(old, plan, "acme").open[0].slice == pages[at].slice
    rest = world.pages("2026-01-15", per_page=2, resume=old)
    assert ids(pages[: at + 1]) + ids(rest) == ids(pages)


def test_only_days_skips_days_and_a_token_remembers_them(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say({"events": [{"event_id": "e"}], "total": 1}))
    for split, requests in (("hourly", 48), ("daily", 2), ("none", 1), ("auto", 1)):
        query = world.client.events("2026-01-15", "2026-01-20", split=split)
        some = query.only_days(["2026-01-19", date(2026, 1, 16), "2026-03-01"])
        assert some.plan.least_requests == requests
        assert some.plan.slices[0].start == date(2026, 1, 16)
        assert some.plan.slices[-1].end == date(2026, 1, 19)
        assert some.only_days(["2026-01-17"]).plan.most_requests == 0
        assert query.only_days([]).plan.slices == ()
        with pytest.raises(ConfigurationError, match="days: write a day"):
            query.only_days(["soon"])
        for wrong in ("2026-01-16", date(2026, 1, 16), None):
            with pytest.raises(ConfigurationError, match=r"days=.*: pass several days, such as"):
                query.only_days(wrong)
    days = world.client.events("2026-01-15", "2026-01-20", split="daily").only_days(
        ["2026-01-16", "2026-01-18", "2026-01-20"]
    )
    first = world.all_of(days.pages())[0]
    stand_in.asked.clear()
    world.pages("2026-01-15", "2026-01-20", split="daily", resume=first.token)
    asked = sorted(each.query["start_date"] for each in stand_in.asked)
    assert asked == ["2026-01-18", "2026-01-20"]


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
