"""The service's own count decides whether a pull is whole: all rows arrive, or an error does."""

import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.client.bench import Bench
from tests.client.moved_clock import MovedClock
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import Variant

from adanalytics_client._events.plan import cut_day
from adanalytics_client.errors import InvalidRequest, NotFound, ProtocolError

FIRST = date(2026, 1, 15)
DAYS = (FIRST, FIRST + timedelta(days=1))
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
SPLITS = ("hourly", "daily", "none", "auto")
Row = dict[str, Any]


def timed(day: date, hour: int, at: int) -> Row:
    return {"event_id": f"{day} {hour} {at}", "event_time": f"{day}T{hour:02}:{at:02}:00.000Z"}


def nameless(day: date, hour: int, at: int) -> Row:
    """A row without an id, and without a time under a known name."""
    return {"auction": f"{day}/{hour}/{at}", "clicks": at % 2}


@dataclass
class Service:
    """A service with three to five events in each hour, wrong in the ways that tests choose.

    Attributes:
        hidden: for each start of a query, such as `2026-01-15 3`, how often its answer is `empty`.
        empty: the answer that hides events.
        total: from the right number of events, how many the pages state; None for no total.
        cap: the most events on a page, whatever was asked.
        ignored: parameters that are not looked at.
        hours: the hours that a query of an hour covers.
        beyond: the answer to a page behind the last.
        listed: whether `dates` lists the day that is left out.
        most: for each start of a query, the most events that it has, also by its total.
    """

    make: Any = timed
    hidden: Counter[str] = field(default_factory=Counter)
    empty: Say | None = None
    total: Callable[[int, int], int | None] = lambda right, _size: right
    cap: int = 10_000
    ignored: frozenset[str] = frozenset()
    hours: Callable[[int], list[int]] = lambda hour: [hour]
    first_day: int = 0
    last_day: int = 0
    first_page: int = 1
    beyond: Say | None = None
    listed: bool = True
    beside: dict[str, Any] = field(default_factory=dict)
    served: bool = False
    scale: int = 1
    most: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def rows(self, start: date, end: date, hours: Any = range(24)) -> list[Row]:
        days = [start + timedelta(day) for day in range((end - start).days + 1)]
        return [
            self.make(day, hour, at)
            for day in days
            for hour in hours
            if 0 <= hour < 24
            for at in range(self.scale * (3 + (day.day + hour) % 3))
        ]

    def __call__(self, asked: Asked) -> Say:
        name = asked.path.rpartition("/")[2]
        self.asked.append((name, asked.query))
        if name == "dates":
            return Say({"dates": [*map(str, DAYS)]})
        if name == "summary":
            return Say({"error": "Not Found"}, status=404)
        query = {key: text for key, text in asked.query.items() if key not in self.ignored}
        first = query.get("start_date", query.get("end_date", ""))
        start = date.fromisoformat(first) + timedelta(self.first_day)
        end = date.fromisoformat(query.get("end_date", first)) - timedelta(self.last_day)
        hours = self.hours(int(query["hour"])) if "hour" in query else range(24)
        key = " ".join([str(start), *([query["hour"]] if "hour" in query else [])])
        if self.hidden[key] and query["per_page"] != "1":
            self.hidden[key] -= 1
            return self.empty or Say(status=204)
        rows = self.rows(start, end, hours)[: self.most.get(key)]
        size = min(int(query["per_page"]), self.cap)
        number = int(query.get("page", "1")) - self.first_page + 1
        page = rows[max(0, number - 1) * size :][:size] if number > 0 else []
        if not page and number > 1 and self.beyond:
            return self.beyond
        if self.served:
            page = [{**row, "served_at": len(self.asked)} for row in page]
        total = self.total(len(rows), len(page))
        beside = self.beside | ({} if total is None else {"meta": {"total": total}})
        return Say({"data": page, **beside})

    @property
    def requests(self) -> list[str]:
        return [name for name, _ in self.asked]


@pytest.fixture
def service(stand_in: StandIn) -> Service:
    stand_in.script = service = Service()
    return service


def marks(rows: list[Row]) -> list[str]:
    return [row.get("event_id") or row["auction"] for row in rows]


def pull(variant: Variant, query: Any, how: str, folder: Path) -> list[Row]:
    """Read the rows of a query, or write them to a file and read that."""
    if how == "rows":
        return variant.all_of(query.rows())
    file = folder / "days.jsonl"
    variant.on(query, "write", file)
    return [*map(json.loads, file.read_bytes().splitlines())]


def outcome(variant: Variant, service: Service, split: str, how: str, folder: Path) -> str:
    """Pull both days: `right`, `silent`, or the error's text; a file stays only if it is whole."""
    expected = Counter(marks(service.rows(*DAYS)))
    query = variant.client.events(*DAYS, split=split)
    try:
        arrived = Counter(marks(pull(variant, query, how, folder)))
    except (ProtocolError, InvalidRequest, NotFound) as error:
        assert [*folder.iterdir()] == []
        return str(error)
    return "right" if arrived == expected else "silent"


def test_an_honest_service_costs_one_request_for_a_file(
    variant: Variant, service: Service, tmp_path: Path
) -> None:
    assert outcome(variant, service, "hourly", "rows", tmp_path) == "right"
    assert len(service.asked) == 48
    service.asked.clear()
    assert outcome(variant, service, "hourly", "write", tmp_path) == "right"
    assert service.asked[48:] == [
        (
            "events",
            {"start_date": "2026-01-15", "end_date": "2026-01-16", "page": "1", "per_page": "1"},
        )
    ]


@pytest.mark.parametrize(("check", "counts"), [("always", 1), ("none", 0)])
def test_check_asks_always_or_never(
    variant: Variant, service: Service, tmp_path: Path, check: str, counts: int
) -> None:
    query = variant.client.events(*DAYS, check=check)
    variant.all_of(query.rows())
    variant.on(query, "write", tmp_path / "days.jsonl")
    assert len(service.asked) == 2 * (48 + counts)


def nothing(_right: int, _size: int) -> None:
    return None


WRONG: dict[str, tuple[dict[str, Any], set[str]]] = {
    # What is wrong, and the splits with which all rows arrive nevertheless.
    "no total": ({"total": nothing}, {*SPLITS}),
    "no total, capped": ({"total": nothing, "cap": 2}, {*SPLITS}),
    "no total, flag computed from the request": (
        {"total": nothing, "cap": 2, "beside": {"has_more": False}},
        {*SPLITS},
    ),
    "capped": ({"cap": 2}, {*SPLITS}),
    "capped, total computed from the page": (
        {"cap": 500, "scale": 20, "total": lambda _right, size: size},
        {"hourly"},
    ),
    "total capped": ({"total": lambda right, _size: min(right, 50)}, {"hourly"}),
    "hour ignored": ({"ignored": frozenset({"hour"})}, {"daily", "none", "auto"}),
    "hour ignored, nameless": (
        {"ignored": frozenset({"hour"}), "make": nameless},
        {"daily", "none", "auto"},
    ),
    "hour ignored, nameless, changing": (
        {"ignored": frozenset({"hour"}), "make": nameless, "served": True},
        {"daily", "none", "auto"},
    ),
    "hours closed at both ends": (
        {"hours": lambda hour: [hour, hour + 1], "make": nameless},
        {"daily", "none", "auto"},
    ),
    "end_date exclusive": ({"last_day": 1}, set()),
    "end_date ignored": ({"ignored": frozenset({"end_date"})}, {"hourly", "daily"}),
    "end_date ignored, nameless": (
        {"ignored": frozenset({"end_date"}), "make": nameless},
        {"hourly", "daily"},
    ),
    "end_date exclusive, no total": ({"last_day": 1, "total": nothing}, set()),
    "end_date ignored, no total": ({"ignored": frozenset({"end_date"}), "total": nothing}, set()),
    "end_date ignored, nameless, no total": (
        {"ignored": frozenset({"end_date"}), "total": nothing, "make": nameless},
        set(),
    ),
    "start_date exclusive": ({"first_day": 1}, set()),
    "start_date ignored": ({"ignored": frozenset({"start_date"})}, {"hourly", "daily"}),
    "start_date ignored, nameless, no total": (
        {"ignored": frozenset({"start_date"}), "total": nothing, "make": nameless},
        set(),
    ),
    "capped, and the total, too": (
        {"cap": 500, "scale": 20, "total": lambda right, _size: min(right, 500)},
        {"hourly"},
    ),
    "capped, and the total at two pages": (
        {"cap": 7, "total": lambda right, _size: min(right, 14)},
        {"hourly"},
    ),
    "capped, and the total at two round pages": (
        {"cap": 500, "scale": 20, "total": lambda right, _size: min(right, 1_000)},
        {"hourly"},
    ),
    "pages from 0": ({"first_page": 0}, set()),
    "page ignored": ({"ignored": frozenset({"page"}), "cap": 2}, set()),
    "page ignored, changing": (
        {"ignored": frozenset({"page"}), "cap": 2, "served": True, "make": nameless},
        set(),
    ),
    "page ignored, no total": ({"ignored": frozenset({"page"}), "cap": 2, "total": nothing}, set()),
    "nameless": ({"make": nameless}, {*SPLITS}),
    "nameless, no total": ({"make": nameless, "total": nothing}, {*SPLITS}),
    "total one too high": ({"total": lambda right, _size: right + 1}, set()),
    "total one too low": ({"total": lambda right, _size: max(right - 1, 0)}, set()),
}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("wrong", WRONG)
def test_all_rows_arrive_or_an_error_does(
    variant: Variant, service: Service, tmp_path: Path, wrong: str, split: str
) -> None:
    options, right = WRONG[wrong]
    for name, value in options.items():
        setattr(service, name, value)
    how = "rows" if split in {"hourly", "none"} else "write"
    result = outcome(variant, service, split, how, tmp_path)
    assert result != "silent"
    assert (result == "right") == (split in right), result


@pytest.mark.parametrize("split", ["hourly", "daily", "none"])
@pytest.mark.parametrize(
    "empty", [{"status": 204}, {"status": 200}, {"body": {}}, {"body": {"data": None}}]
)
def test_events_behind_an_empty_answer_are_requested_again(
    variant: Variant, service: Service, split: str, empty: dict[str, Any]
) -> None:
    key = {"hourly": f"{DAYS[1]} 13", "daily": f"{DAYS[1]}", "none": f"{FIRST}"}[split]
    service.empty = Say(**empty)
    service.hidden[key] = 2 if "status" in empty else 1
    rows = variant.rows(*DAYS, split=split, check="auto")
    assert Counter(marks(rows)) == Counter(marks(service.rows(*DAYS)))


def test_an_hour_without_a_resource_is_empty(variant: Variant, service: Service) -> None:
    """Also the first one of a pull, if the days are there."""
    service.empty = Say({"error": "Not Found"}, status=404)
    right = service.rows(*DAYS)
    for hour in (0, 13):
        service.hidden[f"{FIRST} {hour}"] = 1
        rows = variant.rows(*DAYS, check="auto")
        assert Counter(marks(rows)) == Counter(marks(right))
    service.hidden[f"{FIRST} 13"] = 99
    with pytest.raises(ProtocolError, match=r"counts .* on 2026-01-15, but"):
        variant.rows(*DAYS, check="auto")


def test_a_partner_that_is_not_there_is_said(bench: Bench) -> None:
    bench.script = lambda _: Say({"error": "Not Found"}, status=404)
    with pytest.raises(NotFound, match="Check the partner and base_url"):
        bench.rows(*DAYS)
    assert len(bench.asked) == 2


@pytest.mark.parametrize("status", [404, 416])
def test_a_page_behind_the_last_may_not_exist(
    variant: Variant, service: Service, status: int
) -> None:
    service.total, service.beyond = nothing, Say({"error": "no page"}, status=status)
    assert marks(variant.rows(FIRST)) == marks(service.rows(FIRST, FIRST))


@pytest.mark.parametrize("status", [400, 422])
def test_a_page_that_is_refused_is_the_end_if_a_count_confirms_it(
    variant: Variant, service: Service, status: int
) -> None:
    """Without a count it may be the limit of a search engine."""
    service.beyond = Say({"error": "page is too large"}, status=status)
    service.cap = 3
    service.total = lambda right, _size: right
    assert marks(variant.rows(FIRST, per_page=3, check="auto")) == marks(service.rows(FIRST, FIRST))
    service.total = nothing
    for check in ("auto", "none"):
        with pytest.raises(InvalidRequest, match="page is too large"):
            variant.rows(FIRST, per_page=3, check=check)


def test_a_count_that_fails_is_said_and_the_pull_stands(
    bench: Bench, service: Service, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def script(asked: Asked) -> Say:
        refused = asked.query["per_page"] == "1"
        return Say({"error": "no"}, status=403) if refused else service(asked)

    bench.script = script
    assert outcome(bench.variant, service, "hourly", "write", tmp_path) == "right"
    (message,) = caplog.messages
    assert "were not compared with a count: Access was refused (403: no)" in message


def test_a_resumed_pull_carries_its_sum(variant: Variant, service: Service) -> None:
    pages = variant.pages(*DAYS, check="always")
    service.asked.clear()
    rest = variant.pages(*DAYS, check="always", resume=pages[20].token)
    assert sum(map(len, pages)) == sum(map(len, pages[:21])) + sum(map(len, rest))
    assert len(service.asked) == 28
    # The days that an earlier run has finished are counted, too.
    assert variant.pages(*DAYS, check="always", resume=pages[30].token)
    service.hidden[f"{DAYS[1]} 13"] = 99
    with pytest.raises(ProtocolError, match=r"counts \d+ events in 2026-01-15..2026-01-16, but"):
        variant.pages(*DAYS, check="always", resume=pages[20].token)


def test_a_pull_that_is_resumed_behind_its_last_page_is_counted(
    variant: Variant, service: Service, tmp_path: Path
) -> None:
    """The count of the first run may never have been requested, or its answer never have come."""
    whole = variant.pages(*DAYS)[-1].token
    # Both days state the same total, which a service may have capped.
    same = variant.pages(*DAYS, split="daily")[-1].token
    service.hidden[f"{DAYS[1]} 13"] = 99
    short = variant.pages(*DAYS, check="none")[-1].token
    service.total = nothing
    doubtful = variant.pages(*DAYS, split="daily", per_page=5, check="none")[-1].token
    service.total = lambda right, _size: right
    service.asked.clear()
    assert variant.pages(*DAYS, resume=whole, check="auto") == []
    assert service.asked == []
    for token, options in (
        (whole, {"check": "always"}),
        (same, {"split": "daily", "check": "auto"}),
        (doubtful, {"split": "daily", "per_page": 5, "check": "auto"}),
    ):
        assert variant.pages(*DAYS, resume=token, **options) == []
        assert "events" in service.requests
        service.asked.clear()
    with pytest.raises(ProtocolError, match=r"counts \d+ events in 2026-01-15..2026-01-16, but"):
        variant.pages(*DAYS, resume=short, check="always")
    query = variant.client.events(*DAYS, resume=short)
    with pytest.raises(ProtocolError, match=r"counts \d+ events in 2026-01-15..2026-01-16, but"):
        variant.on(query, "write", tmp_path / "days.jsonl")
    assert [*tmp_path.iterdir()] == []


def test_events_that_move_while_a_slice_is_read_on_arrive_once(
    variant: Variant, service: Service, tmp_path: Path
) -> None:
    """The page that is read on again has events that were yielded; the next page may repeat them.

    A late event at the end shows in the count. While the slice is read on, one at the beginning
    moves that event to the next page, so the number of events is right, but one arrives twice.
    """
    a, b, c = (timed(FIRST, 0, at) for at in range(3))

    def stored() -> list[Row]:
        reads = [int(query["page"]) for name, query in service.asked if query["per_page"] != "1"]
        return [a] if len(reads) < 2 and len(service.asked) < 2 else [c, a, b][2 not in reads :]

    service.cap, service.rows = 2, lambda *_: stored()  # type: ignore[method-assign]
    query = variant.client.events(FIRST, split="none", per_page=3)
    assert sorted(marks(pull(variant, query, "write", tmp_path))) == marks([a, b, c])


@pytest.mark.parametrize("how", ["rows", "write"])
@pytest.mark.parametrize("hour", [None, 13])
def test_pages_without_an_order_are_an_error(
    variant: Variant, service: Service, tmp_path: Path, how: str, hour: int | None
) -> None:
    """As many events as the service counts, some of them twice; no id tells which."""
    whole, service.make, service.scale = service.rows, nameless, 20

    def rows(start: date, end: date, hours: Any = range(24)) -> list[Row]:
        found = whole(start, end, hours)
        turn = 7 * len(service.asked) % (len(found) or 1)
        return found[turn:] + found[:turn]

    service.rows = rows  # type: ignore[method-assign]  # of this test alone
    query = variant.client.events(FIRST, hour=hour, split="daily", per_page=20)
    with pytest.raises(ProtocolError, match=r"Page 1 of .* has other events, another order"):
        pull(variant, query, how, tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_equal_events_cost_a_request(variant: Variant, service: Service) -> None:
    """Without ids they may be on several pages, so the first page comes again, once."""
    service.make, service.scale = lambda *_: {"auction": "a"}, 20
    assert len(variant.rows(FIRST, split="none", per_page=500)) == len(service.rows(FIRST, FIRST))
    assert [query["page"] for _, query in service.asked] == [*"12134"]


@pytest.mark.parametrize("resource", ["summary", "dates"])
def test_what_failed_in_the_plan_is_not_requested_by_the_check(
    bench: Bench, service: Service, resource: str
) -> None:
    """Its error may even state when to try again."""
    data_days = [FIRST + timedelta(days) for days in (0, 2, 4)]
    days = {str(day): 90 for day in data_days}

    def rows(start: date, end: date, hours: Any = range(24)) -> list[Row]:
        covered = [day for day in data_days if start <= day <= end]
        return [
            row | {"event_type": "impression"} for day in covered for row in whole(day, day, hours)
        ]

    def script(asked: Asked) -> Say:
        name = asked.path.rpartition("/")[2]
        if name == resource:
            service.asked.append((name, asked.query))
            return Say({"error": "later"}, status=503, headers={"Retry-After": "400"})
        counts = [{"date": day, "impressions": count} for day, count in days.items()]
        bodies = {"summary": {"rows": counts}, "dates": {"dates": [*days]}}
        return Say(bodies[name]) if name in bodies else service(asked)

    whole, service.total = service.rows, nothing
    service.rows, bench.script = rows, script  # type: ignore[method-assign]  # for one test
    pull = (FIRST, data_days[-1])
    arrived = bench.rows(*pull, split="auto", per_page=3, check="always")
    assert sorted(marks(arrived)) == sorted(marks(rows(*pull)))
    assert service.requests.count(resource) == 1


@pytest.mark.parametrize("make", [timed, nameless])
def test_a_pull_that_is_resumed_while_slices_are_read_on_yields_each_event_once(
    variant: Variant, service: Service, make: Callable[[date, int, int], Row]
) -> None:
    """All hours of a day are read on when its count is higher; a later run goes on with them."""
    whole = service.rows
    service.make = make

    def rows(start: date, end: date, hours: Any = range(24)) -> list[Row]:
        is_counted = any(query["per_page"] == "1" for _, query in service.asked[:-1])
        late = {3: [make(FIRST, 3, 59)]} if is_counted else {}
        return [row for hour in hours for row in [*whole(start, end, [hour]), *late.get(hour, [])]]

    service.rows = rows  # type: ignore[method-assign]  # of this test alone
    pages = variant.pages(FIRST, check="always")
    right = marks(rows(FIRST, FIRST))
    assert sorted(marks([row for page in pages for row in page.rows])) == sorted(right)
    for number in range(25, len(pages) + 1):
        rest = variant.pages(FIRST, check="always", resume=pages[number - 1].token)
        parts = [row for page in (*pages[:number], *rest) for row in page.rows]
        assert sorted(marks(parts)) == sorted(right), number


@pytest.mark.parametrize(("cap", "scale"), [(20, 5), (100, 25), (110, 25), (128, 32)])
def test_a_page_that_is_the_whole_total_of_the_largest_hours_is_counted(
    variant: Variant, service: Service, cap: int, scale: int
) -> None:
    """Hours differ, but a cap that is no round number ends the largest ones."""
    service.scale, service.cap, service.total = scale, cap, lambda _right, size: size
    with pytest.raises(ProtocolError, match=rf"the largest total, {cap:,}, is that of \d+ of its"):
        variant.rows(FIRST, check="auto")
    assert len(service.asked) > 24


@pytest.mark.parametrize(
    ("cap", "most", "right"),
    [(7, 14, 20), (10_000, 500, 600), (7, 13, 13)],
    ids=["pages", "round", "not-full"],
)
def test_a_query_that_ends_with_a_full_page_is_counted(
    variant: Variant, service: Service, cap: int, most: int, right: int
) -> None:
    """One hour is cut, and its total, too: only the number of its last page tells."""

    def rows(start: date, end: date, hours: Any = range(24)) -> list[Row]:
        return [timed(start, hour, at) for hour in hours for at in range(right if hour == 2 else 5)]

    service.rows = rows  # type: ignore[method-assign]  # of this test alone
    service.cap, service.most = cap, {f"{FIRST} 2": most}
    if most < right:
        with pytest.raises(ProtocolError, match=f"its last page has {min(cap, most)} events"):
            variant.rows(FIRST, check="auto")
    else:
        assert len(variant.rows(FIRST, check="auto")) == len(rows(FIRST, FIRST))
        assert len(service.asked) == 25


@pytest.mark.parametrize(
    ("totals", "requests"),
    [([60, 59, 58, 57], 24), ([60, 60, *range(10, 32)], 24), ([19, 19, 19, 5], 24), ([21, 5], 25)],
)
def test_hours_that_differ_cost_nothing(
    variant: Variant, service: Service, totals: list[int], requests: int
) -> None:
    def rows(start: date, end: date, hours: Any = range(24)) -> list[Row]:
        sizes = [*totals, *([5] * 24)][:24] if requests == 24 else totals * 12
        return [timed(start, hour, at) for hour in hours for at in range(sizes[hour])]

    service.rows = rows  # type: ignore[method-assign]  # of this test alone
    assert len(variant.rows(FIRST, check="auto")) == len(rows(FIRST, FIRST))
    assert len(service.asked) == requests


@pytest.mark.parametrize("split", SPLITS)
def test_nothing_of_days_with_data_is_an_error(
    variant: Variant, service: Service, split: str
) -> None:
    service.last_day = 9
    with pytest.raises(
        ProtocolError, match="the service lists 2026-01-15 as a day with data"
    ) as caught:
        variant.rows(*DAYS, split=split, check="auto")
    assert 'check="none"' in caught.value.remedy
    assert service.requests[-1] == "dates"
    assert len(service.asked) == {"hourly": 49, "daily": 3}.get(split, 2)
    assert variant.rows(*DAYS, split=split, check="none") == []


def test_a_day_with_data_that_brings_nothing_is_an_error(bench: Bench, service: Service) -> None:
    """Also if another day brings events, and the count agrees."""

    def script(asked: Asked) -> Say:
        is_second = asked.query.get("start_date") == str(DAYS[1])
        return Say({"data": [], "meta": {"total": 0}}) if is_second else service(asked)

    service.last_day, bench.script = 0, script
    service.ignored = frozenset({"end_date"})
    for split in ("hourly", "daily"):
        with pytest.raises(ProtocolError, match="the service lists 2026-01-16 as a day with data"):
            bench.rows(*DAYS, split=split, check="auto")
        bench.rows(*DAYS, split=split, check="none")


def test_nothing_that_nothing_confirms_is_a_warning(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.script = lambda _: Say(status=204)
    assert bench.rows(FIRST, check="auto") == []
    assert "Whether 2026-01-15 has other days with data is not known" in caplog.text


def test_one_answer_for_everything_is_an_error(bench: Bench) -> None:
    rows = [nameless(FIRST, 0, at) for at in range(4)]
    bench.script = lambda _: Say({"data": rows, "meta": {"total": 4}})
    with pytest.raises(ProtocolError, match="the same with another page number"):
        bench.rows(FIRST, split="none", check="auto")


@pytest.mark.parametrize("status", [404, 416])
def test_a_limit_to_the_depth_of_pages_is_no_end_if_the_summary_counts_more(
    bench: Bench, service: Service, status: int
) -> None:
    def script(asked: Asked) -> Say:
        if asked.path.endswith("summary"):
            return Say({"data": [{"date": str(FIRST), "impressions": 96}]})
        size, number = int(asked.query["per_page"]), int(asked.query["page"])
        return Say({"error": "no"}, status=status) if size * number > 60 else service(asked)

    service.total, service.make = nothing, lambda *at: {**timed(*at), "event_type": "impression"}
    bench.script = script
    with pytest.raises(ProtocolError, match="counts at least 96 events in 2026-01-15, but 60"):
        bench.rows(FIRST, split="none", per_page=20, check="auto")


def test_an_hour_that_is_ignored_is_noticed(variant: Variant, service: Service) -> None:
    service.make, service.ignored = nameless, frozenset({"hour"})
    with pytest.raises(ProtocolError, match="it ignores the hour"):
        variant.rows(*DAYS, hour=13, check="auto")
    service.ignored = frozenset()
    assert len(variant.rows(*DAYS, hour=13, check="auto")) == len(service.rows(*DAYS, [13]))


def test_an_hour_that_is_ignored_is_noticed_without_totals(
    variant: Variant, service: Service
) -> None:
    service.make = lambda *at: {"event_id": " ".join(map(str, at))}
    service.total, service.ignored = lambda *_: None, frozenset({"hour"})
    with pytest.raises(ProtocolError, match="have the same events"):
        variant.rows(FIRST, hour=13, check="auto")


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("wrong", [{"first_day": 1}, {"last_day": 1}])
@pytest.mark.parametrize("days", [DAYS, DAYS[:1]])
def test_a_day_that_is_left_out_of_an_hour_is_an_error(
    variant: Variant, service: Service, days: tuple[date, ...], wrong: dict[str, int], split: str
) -> None:
    for name, value in wrong.items():
        setattr(service, name, value)
    with pytest.raises(ProtocolError, match=r"No events arrived of 2026-01-1[56], but the service"):
        variant.rows(days[0], days[-1], hour=13, split=split, check="auto")
    variant.rows(days[0], days[-1], hour=13, split=split, check="none")


@pytest.mark.parametrize(("now", "has_problem"), [("01:59", False), ("02:00", True)])
def test_an_hour_of_a_day_that_is_not_over_may_have_no_events(
    variant: Variant, service: Service, clock: MovedClock, now: str, *, has_problem: bool
) -> None:
    service.last_day = 1
    clock.now = datetime.fromisoformat(f"2026-01-16T{now}Z").timestamp()
    with pytest.raises(ProtocolError) if has_problem else nullcontext():
        assert variant.rows(FIRST, hour=13, check="auto") == []


def test_of_some_days_the_first_or_last_one_that_an_hour_leaves_out_is_an_error(
    variant: Variant, service: Service
) -> None:
    service.last_day = 1
    query = variant.client.events(FIRST - timedelta(1), DAYS[-1], hour=13, check="auto")
    with pytest.raises(ProtocolError, match="No events arrived of 2026-01-15, but the service"):
        variant.all_of(query.only_days([FIRST]).rows())


def test_an_hour_without_events_of_an_unknown_day_is_a_warning(
    bench: Bench, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.last_day = 1
    bench.script = lambda asked: (
        Say({"error": "busy"}, status=403) if asked.query.get("per_page") == "1" else service(asked)
    )
    assert bench.rows(FIRST, hour=13, check="auto") == []
    (text,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert text.startswith("Whether 2026-01-15 hour 13 has events of 2026-01-15 is not known:")


@pytest.mark.parametrize("split", ["daily", "none"])
def test_a_range_that_is_cut_to_its_first_day_is_an_error_of_an_hour(
    variant: Variant, service: Service, split: str
) -> None:
    whole = service.rows
    service.rows = lambda start, end, hours=range(24): whole(start, min(start, end), hours)  # type: ignore[method-assign]
    if split == "daily":
        assert len(variant.rows(*DAYS, hour=13, split=split)) == len(whole(*DAYS, [13]))
        return
    with pytest.raises(ProtocolError, match=r"more than 4 events in .* hour 13, but 4"):
        variant.rows(*DAYS, hour=13, split=split, check="auto")


def test_an_hour_without_a_body_has_no_events_if_a_page_of_one_event_agrees(
    variant: Variant, service: Service
) -> None:
    service.empty, service.hidden = Say(status=204), Counter({"2026-01-15 13": 9})
    with pytest.raises(ProtocolError, match="more than 0 events in 2026-01-15 hour 13"):
        variant.rows(FIRST, hour=13, check="auto")


def test_a_listed_day_without_events_is_an_error_of_an_hour_after_another_day(
    variant: Variant, service: Service
) -> None:
    whole = service.rows
    service.rows = lambda start, end, hours=range(24): [  # type: ignore[method-assign]
        row for row in whole(start, end, hours) if not row["event_id"].startswith("2026-01-16")
    ]
    assert variant.rows(FIRST, hour=13, check="auto")
    with pytest.raises(ProtocolError, match="No events arrived of 2026-01-16, but the service"):
        variant.rows(DAYS[1], hour=13, check="auto")


@pytest.mark.parametrize(
    ("days", "split", "counts"),
    [(DAYS, "none", [3, 3]), (DAYS, "daily", [1, 0]), (DAYS[1:], "daily", [1, 0])],
)
def test_an_hour_without_events_costs_a_count_until_its_day_had_events(
    variant: Variant, service: Service, days: tuple[date, ...], split: str, counts: list[int]
) -> None:
    whole = service.rows
    service.rows = lambda start, end, hours=range(24): [  # type: ignore[method-assign]
        row for row in whole(start, end, hours) if not row["event_id"].startswith("2026-01-16 13")
    ]
    queries = len(days) if split == "daily" else 1
    for count in counts:
        service.asked.clear()
        rows = variant.rows(days[0], days[-1], hour=13, split=split, check="auto")
        assert len(rows) == len(service.rows(days[0], days[-1], [13]))
        assert len(service.asked) == queries + count


@pytest.mark.parametrize("shared", ["", "00000000-0000-0000-0000-000000000000", "a", 7])
@pytest.mark.parametrize("cap", [2, 10_000])
def test_an_id_that_events_share_identifies_none(
    variant: Variant,
    service: Service,
    caplog: pytest.LogCaptureFixture,
    shared: str | int,
    cap: int,
) -> None:
    service.make = lambda day, hour, at: {
        "event_id": shared,
        "event_time": f"{day}T{hour:02}:{at:02}:00.000Z",
    }
    service.cap = cap
    assert len(variant.rows(*DAYS, split="daily")) == len(service.rows(*DAYS))
    said = [text for text in caplog.messages if "have the same event_id" in text]
    assert len(said) == (cap == 2 and shared in {"a", 7})


@pytest.mark.parametrize("make", ["timed", "untimed"])
def test_queries_whose_only_events_share_an_id_are_kept(
    variant: Variant, service: Service, make: str
) -> None:
    """An id of other content is no id: the events differ, so no query was answered twice."""
    service.make = lambda day, hour, at: {
        "event_id": "a",
        ("event_time" if make == "timed" else "at"): f"{day}T{hour:02}:{at:02}:00.000Z",
    }
    service.rows = lambda start, end, hours=range(24): [  # type: ignore[method-assign]
        service.make(day, hour, 0) for day in DAYS if start <= day <= end for hour in hours
    ]
    assert variant.rows(*DAYS, check="always") == service.rows(*DAYS)


def test_rows_without_an_id_are_kept_however_alike(variant: Variant, service: Service) -> None:
    service.make = lambda day, hour, at: {"auction": f"{day}", "clicks": 1}  # noqa: ARG005
    service.cap = 4
    for split in ("hourly", "daily"):
        rows = variant.rows(*DAYS, split=split, check="auto")
        assert len(rows) == len(service.rows(*DAYS))


THREE = (FIRST, FIRST + timedelta(days=2))


def three_days(bench: Bench, service: Service, lost: date | None) -> None:
    """Serve three days; a query of all of them leaves out the lost one, in its total, too."""
    listed = [FIRST + timedelta(day) for day in range(3)]
    whole = service.rows

    def rows(start: date, end: date, hours: Any = range(24)) -> list[Row]:
        found = whole(start, end, hours)
        is_lost = f"{lost} " if end > start else "none"
        return [row for row in found if not row["event_id"].startswith(is_lost)]

    def script(asked: Asked) -> Say:
        if asked.path.endswith("dates"):
            service.asked.append(("dates", asked.query))
            return Say({"dates": [str(day) for day in listed if day != lost or service.listed]})
        return service(asked)

    service.rows, bench.script = rows, script  # type: ignore[method-assign]  # for one test


@pytest.mark.parametrize("how", ["rows", "write"])
@pytest.mark.parametrize("split", ["none", "auto"])
@pytest.mark.parametrize("cap", [10_000, 20])
@pytest.mark.parametrize("has_total", [True, False])
@pytest.mark.parametrize("order", [1, -1])
def test_a_day_in_the_middle_that_brings_nothing_is_an_error(
    bench: Bench,
    service: Service,
    tmp_path: Path,
    split: str,
    how: str,
    cap: int,
    has_total: bool,
    order: int,
) -> None:
    if not has_total:
        service.total = nothing
    three_days(bench, service, THREE[0] + timedelta(1))
    forward, service.cap = service.rows, cap
    service.rows = lambda *at: forward(*at)[::order]  # type: ignore[method-assign]
    query = bench.client.events(*THREE, split=split, per_page=cap)
    with pytest.raises(ProtocolError, match="the service lists 2026-01-16 as a day with data"):
        pull(bench.variant, query, how, tmp_path)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("how", ["rows", "write"])
@pytest.mark.parametrize(
    ("ignored", "order"), [("end", 1), ("end", -1), ("start", 1), ("start", -1)]
)
def test_days_that_share_events_are_an_error(
    bench: Bench, service: Service, tmp_path: Path, how: str, ignored: str, order: int
) -> None:
    """The count of each day is that of its events, so only the events tell."""
    service.make = lambda *at: {**nameless(*at), "id": "{}-{}-{}".format(*at)}
    whole = service.rows

    def rows(start: date, end: date, hours: Any = range(24)) -> list[Row]:
        first, last = (FIRST, end) if ignored == "start" else (start, DAYS[1])
        return whole(first, last, hours)[::order]

    service.rows = rows  # type: ignore[method-assign]  # of this test alone
    query = bench.client.events(*DAYS, split="daily")
    with pytest.raises(ProtocolError, match="2026-01-15 and 2026-01-16 share an event"):
        pull(bench.variant, query, how, tmp_path)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("is_included", "number", "problem"),
    [(True, 1, "share an event"), (True, 3, "share an event"), (False, 1, "97.*each day agrees")],
)
def test_days_that_end_at_a_midnight_are_an_error(
    variant: Variant,
    service: Service,
    tmp_path: Path,
    order: int,
    *,
    is_included: bool,
    number: int,
    problem: str,
) -> None:
    """The last day of a range ends with the first events of the next day, or of itself."""
    service.make = lambda *at: {**nameless(*at), "id": "{}-{}-{}".format(*at)}
    whole = service.rows

    def rows(start: date, end: date, hours: Any = range(24)) -> list[Row]:
        midnight = end + timedelta(is_included)
        before = whole(start, midnight - timedelta(1), hours)
        return [*before, *whole(midnight, midnight, hours)[:number]][::order]

    service.rows = rows  # type: ignore[method-assign]  # of this test alone
    query = variant.client.events(*DAYS, split="daily")
    with pytest.raises(ProtocolError, match=problem):
        pull(variant, query, "write", tmp_path)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("has_total", [True, False])
def test_days_at_an_end_that_no_list_names_are_counted_together(
    bench: Bench, service: Service, tmp_path: Path, has_total: bool
) -> None:
    """Behind the days that a query leaves out, there may be one without events."""
    whole = service.rows
    service.rows = lambda start, end, *hours: whole(start, min(end, DAYS[1]), *hours)  # type: ignore[method-assign]
    if not has_total:
        service.total = nothing

    def script(asked: Asked) -> Say:
        if asked.path.endswith("dates"):
            return Say({"error": "Not Found"}, status=404)
        # A range is cut to its first day.
        first = asked.query["start_date"]
        return service(
            replace(asked, target=re.sub(r"(end_date=)[\d-]+", rf"\g<1>{first}", asked.target))
        )

    bench.script = script
    query = bench.client.events(FIRST, FIRST + timedelta(2), split="none")
    with pytest.raises(
        ProtocolError, match=r"No events arrived of 2026-01-16\.\.2026-01-17, but the"
    ):
        bench.on(query, "write", tmp_path / "days.jsonl")
    assert [*tmp_path.iterdir()] == []


def test_a_count_that_fails_leaves_a_missing_day_an_error(bench: Bench, service: Service) -> None:
    three_days(bench, service, None)
    whole, answer, lost = service.rows, bench.script, f"{THREE[0] + timedelta(1)} "
    service.rows = lambda *at: [  # type: ignore[method-assign]
        row for row in whole(*at) if not row["event_id"].startswith(lost)
    ]

    def script(asked: Asked) -> Say:
        if any(name == "dates" for name, _ in service.asked):
            return Say(b"<html>wait</html>", headers={"Content-Type": "text/html"})
        return answer(asked)

    bench.script = script
    query = bench.client.events(*THREE, split="daily")
    with pytest.raises(ProtocolError, match="the service lists 2026-01-16 as a day with data"):
        bench.all_of(query.rows())


def test_days_that_all_bring_events_cost_nothing(bench: Bench, service: Service) -> None:
    """Also if they come in no order; a day without events costs one request."""
    three_days(bench, service, None)
    forward = service.rows
    service.rows = lambda *at: sorted(forward(*at), key=hash_of)  # type: ignore[method-assign]
    assert len(bench.rows(*THREE, split="none", check="auto")) == len(service.rows(*THREE))
    assert service.requests == ["events"]
    service.asked.clear()
    three_days(bench, service, THREE[0] + timedelta(1))
    service.listed = False
    assert len(bench.rows(*THREE, split="none", check="auto")) == len(service.rows(*THREE))
    assert service.requests == ["events", "dates"]


def test_the_days_of_a_page_without_times_are_not_known(bench: Bench, service: Service) -> None:
    """So a day whose events are on that page is not said to be missing."""
    three_days(bench, service, None)
    service.make = lambda day, *at: (
        {"event_id": f"{day} {at}"} if day == DAYS[1] else timed(day, *at)
    )
    service.cap, service.total = 96, nothing
    rows = bench.rows(*THREE, split="none", per_page=96, check="auto")
    assert len(rows) == len(service.rows(*THREE)) == 3 * 96


@pytest.mark.parametrize("has_total", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_few_events_of_a_day_among_many_of_others_are_seen(
    bench: Bench, service: Service, has_total: bool, seed: int
) -> None:
    """A sample of an unordered page shows most of its events to be of one day."""
    three_days(bench, service, None)
    if not has_total:
        service.total = nothing
    whole = service.rows

    def rows(*at: Any) -> list[Row]:
        middle = str(FIRST + timedelta(1))
        found = [
            row
            for row in whole(*at)
            if middle in row["event_time"] or "T03:00" in row["event_time"]
        ]
        return sorted(found, key=lambda row: sha256(f"{seed}{row}".encode()).digest())

    service.rows = rows  # type: ignore[assignment, method-assign]
    for split in ("none", "auto"):
        assert len(bench.rows(*THREE, split=split, check="auto")) == len(rows(*THREE))


def hash_of(row: Row) -> bytes:
    return sha256(row["event_id"].encode()).digest()


def identified(day: date, hour: int, at: int) -> Row:
    """A row with an id, but without a time under a known name."""
    return {"event_id": f"{day} {hour} {at}"}


@pytest.mark.parametrize("make", [timed, nameless, identified])
@pytest.mark.parametrize("has_total", [True, False])
@pytest.mark.parametrize("hour", [None, 13])
@pytest.mark.parametrize("how", ["rows", "write"])
def test_one_hour_for_all_hours_is_an_error(
    variant: Variant,
    service: Service,
    tmp_path: Path,
    make: Callable[[date, int, int], Row],
    has_total: bool,
    hour: int | None,
    how: str,
) -> None:
    service.make, service.hours = make, lambda _: [0]
    if not has_total:
        service.total = nothing
    query = variant.client.events(FIRST, hour=hour)
    with pytest.raises(ProtocolError):
        pull(variant, query, how, tmp_path)


@pytest.mark.parametrize("make", [timed, nameless, identified])
def test_an_hour_alone_costs_little(
    variant: Variant, service: Service, make: Callable[[date, int, int], Row]
) -> None:
    service.make = make
    assert len(variant.rows(*DAYS, hour=13, check="auto")) == len(service.rows(*DAYS, [13]))
    assert len(service.asked) == 2 + (make is not timed)


def test_two_days_of_the_same_total_are_counted(variant: Variant, service: Service) -> None:
    """Both are cut at ten, and state what is on their page."""
    service.cap, service.total = 10, lambda _all, page: page
    with pytest.raises(ProtocolError, match="same total"):
        variant.rows(*DAYS, split="daily", check="auto")


def test_a_resumed_pull_of_some_days_is_not_compared_with_all(
    variant: Variant, service: Service
) -> None:
    for split in ("hourly", "auto"):
        service.asked.clear()
        query = variant.client.events(*DAYS, split=split, per_page=40, check="always")
        pages = variant.all_of(query.only_days([DAYS[0]]).pages())
        for page in (pages[0], pages[-1]):
            variant.pages(*DAYS, split=split, check="always", resume=page.token)
        assert service.requests == ["events"] * (len(pages) + len(pages) - 1), split


@pytest.mark.parametrize("how", ["rows", "write"])
@pytest.mark.parametrize("split", SPLITS)
def test_hours_of_a_day_that_is_over_may_be_left_out(
    variant: Variant, service: Service, tmp_path: Path, split: str, how: str
) -> None:
    """A count of the day, or the list of days, has events that were not requested."""
    for moment, hours in ((datetime(2026, 1, 15, 14, 20, tzinfo=UTC), 15), (LONG_AGO, 0)):
        query = variant.client.events(*DAYS, split=split, check="always").only_before(moment)
        rows = service.rows(FIRST, FIRST) if hours else []
        if split == "hourly":
            rows = [row for row in rows if int(row["event_time"][11:13]) < hours]
        assert marks(pull(variant, query, how, tmp_path)) == marks(rows)


@pytest.mark.parametrize(
    ("split", "day", "hour", "most"),
    [
        ("hourly", 15, 23, {"2026-01-15 20": 1}),
        ("hourly", 16, 12, {"2026-01-15 20": 1}),
        ("hourly", 16, 23, {"2026-01-16 20": 1}),
        ("daily", 16, 0, {"2026-01-16": 1}),
    ],
)
def test_days_before_the_moment_are_compared(
    variant: Variant, service: Service, split: str, day: int, hour: int, most: dict[str, int]
) -> None:
    service.most = most
    moment = datetime(2026, 1, day, hour, 30, tzinfo=UTC)
    query = variant.client.events(*DAYS, split=split, check="always").only_before(moment)
    with pytest.raises(ProtocolError, match="The service counts"):
        variant.all_of(query.rows())


@pytest.mark.parametrize("split", SPLITS)
def test_days_that_are_left_out_stay_so_in_a_pull_that_is_resumed(
    variant: Variant, service: Service, split: str
) -> None:
    moment = datetime(2026, 1, 15, 23, 30, tzinfo=UTC)
    query = variant.client.events(*DAYS, split=split, per_page=40, check="always")
    pages = variant.all_of(query.only_before(moment).pages())
    size = {"split": split, "per_page": 40, "check": "always"}
    arrived = variant.pages(*DAYS, resume=pages[0].token, **size)
    assert len(arrived) == len(pages) - 1 > 0


@pytest.mark.parametrize(
    ("split", "hour", "moment", "cut"),
    [
        ("hourly", None, "2026-01-15T22:59", "2026-01-15"),
        ("hourly", None, "2026-01-15T23:00", "2026-01-16"),
        ("hourly", None, "2026-01-16T23:00", None),
        ("auto", None, "2026-01-15T22:59", "2026-01-15"),
        ("daily", None, "2026-01-15T00:00", "2026-01-16"),
        ("none", None, "2026-01-16T00:00", None),
        ("hourly", 5, "2026-01-15T04:59", "2026-01-15"),
        ("hourly", 5, "2026-01-15T05:00", "2026-01-16"),
        ("hourly", None, "9999-12-31T23:59", None),
    ],
)
def test_the_day_that_a_moment_cuts(
    variant: Variant, split: str, hour: int | None, moment: str, cut: str | None
) -> None:
    query = variant.client.events(*DAYS, split=split, hour=hour)
    plan = query.only_before(datetime.fromisoformat(f"{moment}+00:00")).plan
    assert cut_day(plan) == (date.fromisoformat(cut) if cut else date.max)


def test_hours_that_had_not_begun_may_be_left_out_by_a_pull_that_is_resumed_later(
    variant: Variant, service: Service, clock: MovedClock
) -> None:
    clock.now = datetime(2026, 1, 15, 14, 20, tzinfo=UTC).timestamp()
    query = variant.client.events(FIRST, check="always")
    page = variant.first(query.only_before(datetime.fromtimestamp(clock.now, UTC)).pages())
    clock.now += 48 * 3600
    assert len(variant.pages(FIRST, check="always", resume=page.token)) == 14
