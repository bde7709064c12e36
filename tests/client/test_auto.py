"""`split="auto"`: what it costs and asks, and that it brings the events of every day."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import httpx
import pytest
from tests.client.bench import Bench
from tests.client.stand_in import Asked, Say

from adanalytics_client import (
    AsyncClient,
    Client,
    InvalidRequest,
    QuotaPolicy,
    QuotaState,
    RetryPolicy,
    Summary,
)
from adanalytics_client._events.auto import lay_out, requests_of
from adanalytics_client._exports.wait import polls_within
from adanalytics_client.errors import AuthenticationError, ConfigurationError
from adanalytics_client.pricing import Choice, Estimate, Pace, Price, choose, prices
from adanalytics_client.types import DateRange
from adanalytics_server.local import LocalServer, Sample

FIRST = date(2026, 1, 15)


@dataclass
class Service:
    """A service with so many events in each hour, which says about its pages what it is told to.

    Attributes:
        hours: events of each hour, from the first day on.
        says: how a page is wrapped: `total`, `pages`, `more`, `next` or `nothing`.
        largest: the most events per page gets, whatever is asked for.
        counts: the summary by day: `right`, `less` (half is filtered), `foreign`, `empty`, `none`.
    """

    hours: list[int]
    says: str = "total"
    largest: int = 10_000
    counts: str = "right"
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    # Every page of a query asks for the same ids.
    known: dict[tuple[date, date, int | None], list[str]] = field(default_factory=dict)

    @property
    def last(self) -> date:
        return FIRST + timedelta(days=(len(self.hours) - 1) // 24)

    def ids(self, start: date, end: date, hour: int | None = None) -> list[str]:
        query = (start, end, hour)
        if query not in self.known:
            self.known[query] = self._ids(*query)
        return self.known[query]

    def _ids(self, start: date, end: date, hour: int | None) -> list[str]:
        base, stop = ((each - FIRST).days * 24 for each in (start, end + timedelta(days=1)))
        return [
            f"{at}-{number}"
            for at in range(max(0, base), min(stop, len(self.hours)))
            if hour is None or at % 24 == hour
            for number in range(self.hours[at])
        ]

    def answer(self, request: httpx.Request) -> httpx.Response:
        name, query = request.url.path.rpartition("/")[2], dict(request.url.params)
        self.asked.append((name, query))
        if name == "dates":
            days = {str(FIRST + timedelta(at // 24)) for at, n in enumerate(self.hours) if n}
            return httpx.Response(200, json={"dates": sorted(days)})
        return self._summary() if name == "summary" else self._page(query)

    def _summary(self) -> httpx.Response:
        if self.counts == "none":
            return httpx.Response(404, json={"error": "Not Found"})
        days = range((self.last - FIRST).days + 1)
        totals = [sum(self.hours[day * 24 : day * 24 + 24]) for day in days]
        if self.counts == "foreign":
            rows: list[dict[str, Any]] = [{"when": day, "sum": n} for day, n in enumerate(totals)]
        else:
            share = 2 if self.counts == "less" else 1
            rows = [
                {"date": str(FIRST + timedelta(day)), "impressions": n // share, "revenue": "1.5"}
                for day, n in enumerate(totals)
                if self.counts != "empty"
            ]
        return httpx.Response(200, json={"summary": rows})

    def _page(self, query: dict[str, str]) -> httpx.Response:
        hour = int(query["hour"]) if "hour" in query else None
        start, end = (date.fromisoformat(query[f"{each}_date"]) for each in ("start", "end"))
        found, number = self.ids(start, end, hour), int(query["page"])
        size = min(int(query["per_page"]), self.largest)
        rows = [{"event_id": each} for each in found[number * size - size : number * size]]
        more = number * size < len(found)
        ways: dict[str, dict[str, Any]] = {
            "total": {"total": len(found)},
            "pages": {"total_pages": max(1, -(-len(found) // size))},
            "more": {"has_more": more},
            "next": {"next": f"/page/{number + 1}" if more else None},
            "nothing": {},
        }
        return httpx.Response(200, json={"events": rows, **ways[self.says]})


OPTIONS: dict[str, Any] = {
    "api_key": "key",
    "partner": "acme",
    "quota": QuotaPolicy(limit=None),
    "retry": RetryPolicy(attempts=1),
}


def pull(service: Service, *args: Any, **options: Any) -> list[str]:
    """The ids that a pull through `Client` brings."""
    transport = httpx.MockTransport(service.answer)
    with httpx.Client(transport=transport) as http:
        client = Client("http://service.example", http=http, **OPTIONS)
        return [row["event_id"] for row in client.events(*args, check="none", **options).rows()]


async def pull_async(service: Service, *args: Any, **options: Any) -> list[str]:
    """The same through `AsyncClient`."""
    transport = httpx.MockTransport(service.answer)
    async with httpx.AsyncClient(transport=transport) as http:
        client = AsyncClient("http://service.example", http=http, **OPTIONS)
        query = client.events(*args, check="none", **options)
        return [row["event_id"] async for row in query.rows()]


def questions(service: Service) -> Counter[str]:
    return Counter(f"{name} {sorted(query.items())}" for name, query in service.asked)


@pytest.mark.parametrize(
    ("hours", "says", "largest", "counts", "split", "hour", "per_page", "concurrency"),
    [
        ([9] * 48, "nothing", 3, "right", "auto", None, 8, 2),
        ([0] * 24 + [40] * 24 + [0] * 24 + [40] * 23, "total", 9, "less", "auto", None, 5, 3),
        ([0, 30, 2] * 16, "next", 2, "foreign", "auto", None, 4, 1),
        ([7] * 24, "more", 10_000, "none", "hourly", 13, 3, 1),
    ],
)
def test_every_split_brings_all_events_once_through_both_clients(
    hours: list[int],
    says: str,
    largest: int,
    counts: str,
    split: str,
    hour: int | None,
    per_page: int,
    concurrency: int,
) -> None:
    services = [Service(hours, says, largest, counts) for _ in range(2)]
    options: dict[str, Any] = {"split": split, "hour": hour, "per_page": per_page}
    options["concurrency"] = concurrency
    last = services[0].last
    found = pull(services[0], FIRST, last, **options)
    again = asyncio.run(pull_async(services[1], FIRST, last, **options))
    expected = services[0].ids(FIRST, last, hour)
    assert found == expected
    assert sorted(again) == sorted(expected)
    if concurrency == 1:
        assert services[0].asked == services[1].asked
    else:
        assert questions(services[0]) == questions(services[1])


@pytest.mark.parametrize("dialect", ["reference", "meta-none", "bare"])
def test_what_auto_costs(dialect: str) -> None:
    """30 days of 5,000 events and a day of 500,000, both at a thousandth with pages of 10."""
    month, large = Sample(days=30, events_per_day=5), Sample(events_per_day=500, seed=3)
    for sample, most in ((month, 20), (large, 50 + 29)):
        with (
            LocalServer(sample=sample, dialect=dialect) as server,
            Client(server.url, api_key=server.api_key, partner="acme") as client,
        ):
            end = sample.start + timedelta(days=sample.days - 1)
            query = client.events(sample.start, end, split="auto", per_page=10)
            assert (query.plan.least_requests, query.plan.most_requests) == (1, None)
            ids = {row["event_id"] for row in query.rows()}
            assert len(ids) == sample.days * sample.events_per_day
            asked = server.journal.entries()
            # Where no total is stated, the summary is compared, too.
            assert len(asked) <= most + (dialect != "reference")
            by_hour = [entry for entry in asked if "hour" in dict(entry.query)]
            assert bool(by_hour) == (sample is large)


@pytest.mark.parametrize(
    ("service", "days", "requests", "also"),
    [
        # The first page holds all: nothing else is asked.
        (Service([5]), 30, 1, {}),
        # A range of 20 pages goes on as it began.
        (Service([199]), 30, 20, {}),
        # A full page is never the last by word alone.
        (Service([200]), 30, 21, {}),
        # More than that in one day: by hour, and what the pages say is enough to know it.
        (Service([9] * 24), 1, 1 + 24, {}),
        # In several days the summary tells which of them are large.
        (Service([19] * 24 + [1] * 48), 3, 1 + 48 + 5, {"summary": 1}),
        # Without a summary the total is spread evenly.
        (Service([19] * 24 + [1] * 24, counts="none"), 2, 1 + 48 + 24, {"summary": 1}),
        # Nobody says how many there are: the fewest requests are those for the whole range.
        # A summary whose rows name no day is asked again without groups, to see that it has some.
        (Service([20] * 24, says="nothing", counts="foreign"), 1, 49, {"summary": 2}),
        (Service([20] * 24, says="nothing"), 1, 1 + 72, {"summary": 1}),
        # Days without data between large ones are worth asking `dates`.
        (Service(([19] * 24 + [0] * 24) * 3), 6, 1 + 3 * 48, {"summary": 1, "dates": 1}),
    ],
)
def test_what_auto_asks(service: Service, days: int, requests: int, also: dict[str, int]) -> None:
    service.asked.clear()
    end = FIRST + timedelta(days=days - 1)
    found = pull(service, FIRST, end, split="auto", per_page=10)
    assert found == service.ids(FIRST, end)
    names = Counter(name for name, _ in service.asked)
    assert names == {"events": requests, **also}


def test_max_events_keeps_auto_small() -> None:
    service = Service([500] * 24 * 3)
    found = pull(service, FIRST, service.last, split="auto", per_page=10, max_events=35)
    assert found == service.ids(FIRST, FIRST)[:35]
    assert len(service.asked) == 4
    deep = Service([500] * 24 * 3)
    found = pull(deep, FIRST, deep.last, split="auto", per_page=10, max_events=450)
    assert found == deep.ids(FIRST, FIRST)[:450]


def test_only_days_are_asked_for_by_auto() -> None:
    service = Service([20] * 24 * 4)
    with httpx.Client(transport=httpx.MockTransport(service.answer)) as http:
        client = Client("http://service.example", http=http, **OPTIONS)
        query = client.events(FIRST, service.last, split="auto", per_page=10, check="none")
        kept = [FIRST, FIRST + timedelta(days=2)]
        found = {row["event_id"] for row in query.only_days(kept).rows()}
    assert found >= {each for day in kept for each in service.ids(day, day)}
    assert {q["start_date"] for name, q in service.asked if "hour" in q} == {str(x) for x in kept}


def test_auto_asks_for_no_hour_that_has_not_begun() -> None:
    service = Service([20] * 24 + [20] * 15 + [0] * 8 + [1])
    with httpx.Client(transport=httpx.MockTransport(service.answer)) as http:
        client = Client("http://service.example", http=http, **OPTIONS)
        query = client.events(FIRST, service.last, split="auto", per_page=10, check="none")
        now = datetime.combine(service.last, time(14, 20), UTC)
        found = [row["event_id"] for row in query.only_before(now).rows()]
    assert len(found) == 39 * 20
    hours = {(q["start_date"], int(q["hour"])) for name, q in service.asked if "hour" in q}
    assert {hour for day, hour in hours if day == str(service.last)} == {*range(15)}


@pytest.mark.parametrize("says", ["total", "nothing"])
def test_auto_goes_on_after_any_page(says: str) -> None:
    service = Service([0] * 24 + [20] * 24 + [1] * 30, says)
    with httpx.Client(transport=httpx.MockTransport(service.answer)) as http:
        client = Client("http://service.example", http=http, **OPTIONS)

        def pages(token: str | None) -> list[Any]:
            query = client.events(
                FIRST, service.last, split="auto", per_page=10, check="none", resume=token
            )
            return list(query.pages())

        whole = pages(None)
        for at in (*range(0, len(whole), 7), len(whole) - 1):
            service.asked.clear()
            rest = pages(whole[at].token)
            rows = [row["event_id"] for each in [*whole[: at + 1], *rest] for row in each.rows]
            assert rows == service.ids(FIRST, service.last)
            assert {name for name, _ in service.asked} <= {"events"}


@pytest.mark.parametrize(("status", "text"), [(401, "Unauthorized"), (403, "Forbidden")])
def test_a_refused_credential_is_no_missing_summary(status: int, text: str) -> None:
    service = Service([20] * 24 * 2)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/summary"):
            return httpx.Response(status, json={"error": text})
        return service.answer(request)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        client = Client("http://service.example", http=http, **OPTIONS)
        query = client.events(FIRST, service.last, split="auto", per_page=10, check="none")
        rows = query.rows()
        if status == 401:
            with pytest.raises(AuthenticationError):
                list(rows)
        else:
            assert len(list(rows)) == 960


def test_how_days_are_laid_out() -> None:
    days = [FIRST + timedelta(days=each) for each in range(6)]
    counts = dict(zip(days, [100, 100, 10, 500, 600, 0], strict=True))
    laid = lay_out(days, counts, size=10, hour=None)
    assert laid == [
        DateRange(days[0], days[1], "whole"),
        DateRange(days[2], days[2], "whole"),
        DateRange(days[3], days[4], "hour"),
        DateRange(days[5], days[5], "whole"),
    ]
    assert requests_of(laid, counts, size=10) == 20 + 1 + 68 + 72 + 1
    assert [each.cut for each in lay_out(days, counts, size=10, hour=3)] == ["whole"] * 5
    full = [lay_out(days[:1], {days[0]: count}, size=10, hour=None) for count in (200, 201)]
    assert [each.cut for (each,) in full] == ["whole", "hour"]
    assert requests_of([DateRange(days[0], days[5], "day")], counts, size=10) == 10 + 10 + 1 + 111


def test_a_range_is_refused_by_what_it_comes_to_and_not_by_what_it_might() -> None:
    """23 years are one request where they hold a few events, and too many where each hour has."""
    end = FIRST + timedelta(days=23 * 365)
    few = Service([5])
    assert pull(few, FIRST, end, split="auto") == few.ids(FIRST, end)
    assert len(few.asked) == 1
    many = Service([400_000], counts="none")
    with pytest.raises(ConfigurationError, match="take 201504 requests, more than"):
        pull(many, FIRST, end, split="auto", per_page=1)
    assert len(many.asked) == 2
    with pytest.raises(ConfigurationError, match="would take 2912429 requests"):
        pull(few, FIRST, date(9999, 12, 31), split="auto")


DAYS = [f"2026-01-{day}" for day in range(15, 20)]
LARGE = {"2026-01-15", "2026-01-17", "2026-01-19"}


def serve(bench: Bench, between: int) -> None:
    """Large days, and so many filtered events on each day between them."""

    def events(query: dict[str, str]) -> list[dict[str, Any]]:
        hours = [int(query["hour"])] if "hour" in query else range(24)
        return [
            {"event_id": f"{day} {hour} {at}"}
            for day in DAYS
            if query["start_date"] <= day <= query["end_date"]
            for hour in hours
            for at in range(20 if day in LARGE else between if hour == 0 else 0)
        ]

    def script(asked: Asked) -> Say:
        if asked.path.endswith("dates"):
            return Say({"dates": sorted(LARGE)})
        if asked.path.endswith("summary"):
            return Say({"summary": [{"date": day, "impressions": 480} for day in sorted(LARGE)]})
        found, size = events(asked.query), int(asked.query["per_page"])
        end = int(asked.query["page"]) * size
        return Say({"events": found[end - size : end], "total": len(found)})

    bench.script = script


@pytest.mark.parametrize("between", [0, 1, 7, 30])
def test_days_that_a_total_counts_are_asked_for(bench: Bench, between: int) -> None:
    serve(bench, between)
    variant = bench.open(quota=QuotaPolicy(limit=None))
    rows = variant.rows(DAYS[0], DAYS[-1], split="auto", per_page=10)
    days = Counter(row["event_id"].split()[0] for row in rows)
    assert days == Counter({day: 480 if day in LARGE else between for day in DAYS})
    # Where the figures agree, days without data are not asked for.
    firsts = {each.query["start_date"] for each in bench.asked if "page" in each.query}
    assert firsts == ({*DAYS} if between else LARGE)


@pytest.mark.parametrize("hour", [None, 3])
def test_a_range_that_is_refused_for_its_length_is_pulled_by_days(
    bench: Bench, hour: int | None
) -> None:
    serve(bench, 1)
    whole = bench.script

    def refuse(asked: Asked) -> Say:
        if asked.query.get("start_date") != asked.query.get("end_date"):
            return Say({"error": "too many days"}, status=400)
        return whole(asked)

    bench.script = refuse
    variant = bench.open(quota=QuotaPolicy(limit=None))
    rows = variant.rows(DAYS[0], DAYS[-1], split="auto", per_page=100, hour=hour)
    assert len(rows) == (len(LARGE) * 20 if hour else len(LARGE) * 480 + 2)
    bench.script = lambda _: Say({"error": "no such partner"}, status=400)
    bench.asked.clear()
    with pytest.raises(InvalidRequest):
        variant.rows(DAYS[0], split="auto")
    assert len(bench.asked) == 1


def test_the_only_page_of_a_service_without_totals_needs_no_summary(bench: Bench) -> None:
    def script(asked: Asked) -> Say:
        rows = [{"event_id": day} for day in DAYS]
        return Say(rows if asked.query["page"] == "1" else [])

    bench.script = script
    rows = bench.open().rows(DAYS[0], DAYS[-1], split="auto", check="none")
    assert [row["event_id"] for row in rows] == DAYS
    assert [asked.query["page"] for asked in bench.asked] == ["1", "2"]


FIRST_DAY = date(2026, 1, 1)
FREE = QuotaState(None, None, None)


def days_of(*counts: int) -> Estimate:
    days = {FIRST_DAY + timedelta(days=at): count for at, count in enumerate(counts)}
    return Estimate(FIRST_DAY, max(days), days)


def priced(estimate: Estimate, quota: QuotaState = FREE) -> dict[str, Price]:
    return {price.way: price for price in prices(estimate, quota)}


@pytest.mark.parametrize(
    ("estimate", "requests", "way"),
    [
        (days_of(*[5_000] * 30), (720, 15), "export"),
        (days_of(5_000), (24, 1), "auto"),
        (days_of(200_000), (24, 20), "export"),
        (days_of(2_000_000), (216, 217), "export"),
        (days_of(10_000, 2_000_000, 0), (264, 1 + 216 + 1 + 2), "export"),
        (days_of(0, 0), (48, 1), "auto"),
    ],
)
def test_requests_of_each_way(estimate: Estimate, requests: tuple[int, int], way: str) -> None:
    found = priced(estimate)
    assert (found["hourly"].requests, found["auto"].requests) == requests
    assert choose(estimate, found.values()).way == way


def test_hours_that_have_not_begun_have_no_price() -> None:
    """At 02:30 of the second day, whose 1.2 million events lie in three hours."""
    moment = datetime(2026, 1, 2, 2, 30, tzinfo=UTC)
    found = priced(replace(days_of(5_000, 1_200_000), before=moment))
    assert (found["hourly"].requests, found["auto"].requests) == (24 + 120, 1 + 120 + 2)


def test_pages_may_wait_for_quota_where_an_export_does_not() -> None:
    found = priced(days_of(*[3_000_000] * 5), QuotaState(1000, 400, None))
    assert found["hourly"].requests == 1560
    assert found["hourly"].waits == 2 * 3600
    assert found["export"].waits == 0


def test_fewer_requests_count_first_then_fewer_bytes_then_less_time() -> None:
    estimate = days_of(5_000)

    def choice(auto: tuple[int, int, float], export: tuple[int, int, float]) -> Choice:
        hourly = Price("hourly", 24, 9, 9.0, 0.0)
        ways = [hourly, Price("auto", *auto, 0.0), Price("export", *export, 0.0)]
        return choose(estimate, ways)

    assert choice((3, 9, 9.0), (4, 1, 1.0)).way == "auto"
    assert choice((3, 9, 1.0), (3, 8, 9.0)).why == "3 requests instead of 24 by the hour"
    assert choice((3, 9, 1.0), (3, 8, 9.0)).way == "export"
    assert choice((3, 9, 9.0), (3, 9, 8.0)).way == "export"
    assert choice((3, 9, 9.0), (3, 9, 9.0)).way == "auto"
    assert choice((24, 9, 9.0), (24, 9, 9.0)).why == "24 requests"
    why = choose(estimate, priced(estimate).values()).why
    assert why == "1 request instead of 24 by the hour or 3 by an export"


def test_size_and_time_follow_from_the_pace() -> None:
    pace = Pace(answer=2.0, transfer=1e6, export_rows=1e3, event_bytes=500, row_bytes=250)
    hourly, auto, export = prices(days_of(100_000), FREE, concurrency=4, pace=pace)
    assert (hourly.size, auto.size, export.size) == (50_000_000, 50_000_000, 25_000_000)
    assert hourly.seconds == 24 * 2 / 4 + 50
    assert auto.seconds == 10 * 2 / 4 + 50
    assert export.seconds == 100 + 25


def test_nothing_is_guessed() -> None:
    unknown = Estimate(FIRST_DAY, FIRST_DAY + timedelta(days=9), None, frozenset({FIRST_DAY}))
    found = priced(unknown)
    assert (unknown.events, unknown.days) == (None, 1)
    assert [each.requests for each in found.values()] == [240, 1, 3]
    assert {(each.size, each.seconds) for each in found.values()} == {(None, None)}
    assert choose(unknown, found.values()).way == "auto"


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        ([{"date": "2026-01-01", "impressions": 3, "clicks": 2, "revenue": "9"}], {FIRST_DAY: 5}),
        ([{"day": "2026-01-01", "requests": 3}], None),
        ([{"date": "2026-01-01T00:00:00Z", "requests": 3}], None),
        ([{"date": "2026-01-01", "clicks": 1}, {"date": "2026-01-01", "skips": 1}], {FIRST_DAY: 2}),
        ([{"date": "2025-01-01", "clicks": 1}], None),
        ([{"date": "2026-13-01", "clicks": 1}], None),
        ([{"date": "2026-01-01", "clicks": True}], None),
        ([{"date": "2026-01-01", "revenue": "1.0"}], None),
        ([{"impressions": 3}], None),
        ([], None),
    ],
)
def test_counts_come_from_any_summary_that_has_them(rows: Any, counts: Any) -> None:
    summary = Summary.model_validate({"rows": rows})
    assert Estimate.of(summary, FIRST_DAY, FIRST_DAY + timedelta(days=5)).counts == counts


def test_the_price_is_what_a_pull_costs(reference: LocalServer) -> None:
    with Client(reference.url, api_key=reference.api_key, partner="acme") as client:
        first, last = client.dates()
        estimate = Estimate.of(client.summary(first, last, group_by="day"), first, last)
        for price in prices(estimate, client.quota)[:2]:
            reference.journal.clear()
            assert price.way != "export"
            events = len(list(client.events(first, last, split=price.way, check="none").rows()))
            assert events == 3_000
            assert len(reference.journal.entries()) == price.requests
    assert estimate.days == 2
    assert estimate.events is not None
    assert 2_500 < estimate.events < 3_000


def test_questions_are_as_many_as_waiting_asks() -> None:
    assert [polls_within(seconds) for seconds in (0, 1, 2, 30, 3600)] == [1, 1, 2, 7, 69]
