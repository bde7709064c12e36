"""Too many requests: what the service says, and how all clients wait if it says nothing."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from tests.client.bench import Bench
from tests.client.frozen_time import FROZEN, Worker, most_in_an_hour, run_all
from tests.client.notes import Notes
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import QuotaPolicy, RetryPolicy, errors
from adanalytics_client._base.effects import ResponseHead
from adanalytics_client._quota.store import QuotaStore
from adanalytics_client._quota.window import Moment, Permit, Quota
from adanalytics_client.observers import WaitStarted
from adanalytics_client.testing import MovableClock
from adanalytics_server.clock import Clock

DATES = {"dates": ["2026-01-15"]}


@pytest.mark.parametrize("form", ["seconds", "date", "ratelimit", "reset", "epoch"])
def test_429_waits_as_long_as_the_service_says(bench: Bench, form: str) -> None:
    until = bench.clock.now + 120
    headers = {
        "seconds": {"Retry-After": "120", "RateLimit": '"hour";r=0;t=9'},
        "date": {"Retry-After": format_datetime(datetime.fromtimestamp(until, tz=UTC))},
        "ratelimit": {"RateLimit": '"hour";r=0;t=120', "X-RateLimit-Reset": "7"},
        "reset": {"X-RateLimit-Reset": "120", "Retry-After": "soon"},
        "epoch": {"X-RateLimit-Reset": str(int(until))},
    }[form]
    bench.says(Say({"error": "Too Many Requests"}, status=429, headers=headers), Say(DATES))
    assert len(bench.call("dates")) == 1
    assert bench.clock.sleeps == [120.0]


def test_403_with_retry_after_is_a_limit_too(bench: Bench) -> None:
    bench.says(Say(status=403, headers={"Retry-After": "5"}), Say(DATES))
    bench.call("dates")
    assert bench.clock.sleeps == [5.0]


@pytest.mark.parametrize("quota", [QuotaPolicy(on_limit="raise"), QuotaPolicy(max_wait=60)])
def test_429_raises_where_waiting_is_not_allowed(bench: Bench, quota: QuotaPolicy) -> None:
    bench.says(Say(status=429, headers={"Retry-After": "120"}))
    with pytest.raises(errors.RateLimited) as caught:
        bench.open(quota=quota).call("dates")
    assert caught.value.retry_after == 120.0
    assert pickle.loads(pickle.dumps(caught.value)).retry_after == 120.0
    assert len(bench.asked) == 1


def test_the_own_window_holds_without_any_header(bench: Bench) -> None:
    bench.says(Say(DATES))
    variant = bench.open(quota=QuotaPolicy(limit=3))
    for _ in range(4):
        variant.call("dates")
    assert bench.clock.sleeps == [3600.0]
    assert variant.client.quota.remaining == 2


def test_a_used_up_quota_raises_where_waiting_is_not_allowed(bench: Bench) -> None:
    bench.says(Say(DATES))
    variant = bench.open(quota=QuotaPolicy(limit=1, on_limit="raise"))
    variant.call("dates")
    with pytest.raises(errors.QuotaExceeded) as caught:
        variant.call("dates")
    resumes_at = datetime.fromtimestamp(bench.clock.now + 3600, tz=UTC)
    assert caught.value.resumes_at == resumes_at
    assert 'on_limit="wait"' in caught.value.remedy
    assert pickle.loads(pickle.dumps(caught.value)).resumes_at == resumes_at
    assert len(bench.asked) == 1


def test_a_hold_of_the_service_is_not_called_a_used_up_quota(bench: Bench) -> None:
    bench.says(Say(status=429, headers={"Retry-After": "30", "RateLimit": '"hour";r=998;t=9'}))
    variant = bench.open(quota=QuotaPolicy(on_limit="raise"))
    with pytest.raises(errors.RateLimited):
        variant.call("dates")
    with pytest.raises(
        errors.QuotaExceeded,
        match=r"The service asked to slow down; resuming at \d\d:\d\d:\d\d UTC \(in",
    ):
        variant.call("dates")


def test_the_service_knows_better_how_much_is_left(bench: Bench) -> None:
    bench.says(Say(DATES, headers={"RateLimit": '"hour";r=7;t=1800'}))
    assert bench.client.quota.remaining == 1000
    bench.call("dates")
    assert bench.client.quota.remaining == 7


def test_a_waiting_pull_says_so_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    def script(asked: Asked) -> Say:
        hour = asked.query.get("hour")
        return Say({"events": [{"h": hour}], "total": 24 if hour is None else 1})

    bench.script = script
    # All threads share the moved clock, so one thread's wait would use up the budget of another.
    variant = bench.open(quota=QuotaPolicy(limit=20), retry=RetryPolicy(budget=1e9))
    assert len(variant.rows("2026-01-15", concurrency=4)) == 24
    assert caplog.messages == ["Quota used up; resuming at 09:00:00 UTC (in 60 min)"]
    assert [each.levelname for each in caplog.records] == ["WARNING"]


@pytest.mark.parametrize(
    ("seconds", "message"), [(5, []), (30, ["(in 30 s)"]), (300, ["(in 5 min)"])]
)
def test_a_wait_of_more_than_five_seconds_is_a_warning(
    bench: Bench, caplog: pytest.LogCaptureFixture, seconds: int, message: list[str]
) -> None:
    bench.says(Say(status=429, headers={"Retry-After": str(seconds)}), Say(DATES))
    bench.call("dates")
    assert [each.rpartition(" UTC ")[2] for each in caplog.messages] == message
    assert all(each.startswith("The service asked to slow down;") for each in caplog.messages)


class CoarseClock:
    """A clock that counts in whole seconds, so that a short wait does not move it."""

    def __init__(self) -> None:
        self.now = 1_800_000_000
        self.waits = 0

    def time(self) -> float:
        return float(self.now)

    monotonic = time

    def sleeping(self, until: float) -> tuple[float, ...]:
        self.waits += 1
        assert self.waits < 100, "it waits for ever"
        self.now = round(until)
        return ()

    def running(self, change: int) -> None: ...


def test_a_clock_that_moves_too_little_makes_no_endless_wait(bench: Bench) -> None:
    bench.says(Say(status=429), Say(DATES))
    clock = CoarseClock()
    assert len(bench.open(clock=clock).call("dates")) == 1
    bench.says(Say({"status": "running", "status_url": "/st"}))
    variant = bench.open(clock=clock)
    job = variant.call("start_export", "2026-01-15")
    with pytest.raises(errors.ExportTimeout):
        variant.on(job, "wait", timeout=3.4)
    assert len(bench.asked) < 10


DAY = "2026-01-15"
BEGIN = datetime(2026, 1, 20, 12, 20, tzinfo=UTC)
MOST = 12
# Minutes from the first refusal.
PROBES = (1 / 3, 1, 3, 6, 16, 26, 36)


@dataclass
class Limited:
    """A service that refuses every request until a time, and the answers that it gave."""

    clock: MovableClock
    until: datetime
    headers: dict[str, str] = field(default_factory=dict)
    refused: list[datetime] = field(default_factory=list)
    passed: list[datetime] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Say:
        now = self.clock.now
        if now < self.until:
            self.refused.append(now)
            return Say({"error": "Too Many Requests"}, status=429, headers=self.headers)
        self.passed.append(now)
        if asked.path.endswith("/dates"):
            return Say(DATES)
        hour = asked.query.get("hour")
        total = 24 if hour is None else 1
        return Say({"data": [{"event_id": hour}], "meta": {"total": total}})

    def probes(self) -> list[float]:
        """Return the refusals after the first ones, in minutes since then."""
        later = [moment for moment in self.refused if moment > self.refused[0]]
        return [(moment - self.refused[0]) / timedelta(minutes=1) for moment in later]


@pytest.fixture
def movable() -> MovableClock:
    return MovableClock(BEGIN)


@pytest.fixture
def limited(stand_in: StandIn, movable: MovableClock) -> Limited:
    """The service, limited for eight minutes."""
    stand_in.script = service = Limited(movable, BEGIN + timedelta(minutes=8))
    return service


@pytest.fixture
def open_held(open_variant: OpenVariant, movable: MovableClock, tmp_path: Path) -> OpenVariant:
    """Open a client with a movable clock and a shared log."""

    def open_one(base_url: str | None = None, **options: Any) -> Variant:
        policy = replace(options.pop("quota", QuotaPolicy(on_limit="wait")), log=tmp_path)
        settings = {"clock": movable, "retry": RetryPolicy(), **options}
        return open_variant(base_url, quota=policy, **settings)

    return open_one


@pytest.mark.parametrize("clients", [1, 2])
@pytest.mark.parametrize(
    ("minutes", "goes_on"), [(1, 1.0), (8, 16.0), (20, 26.0), (40, 40 + 5 / 60)]
)
def test_a_pull_goes_on_soon_after_the_limit_has_ended(
    open_held: OpenVariant, limited: Limited, minutes: int, goes_on: float, clients: int
) -> None:
    """At 12:20 and 40 minutes, it is the full hour."""
    limited.until = BEGIN + timedelta(minutes=minutes)
    variants = [open_held() for _ in range(clients)]
    with ThreadPoolExecutor() as threads:
        pulls = threads.map(lambda variant: variant.rows(DAY), variants)
        assert [len(rows) for rows in pulls] == [24] * clients
    # Others look once a second whether the probe has its answer.
    late = max(limited.passed) - (BEGIN + timedelta(minutes=goes_on))
    assert timedelta(0) <= late <= timedelta(seconds=1)
    assert limited.probes() == pytest.approx([at for at in PROBES if at < minutes])


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "soon"},
        {"Retry-After": "-5"},
        {"Retry-After": "0"},
        {"Retry-After": "Tue, 30 Feb 2026 99:00:00 GMT"},
        {"X-RateLimit-Reset": "never", "X-RateLimit-Remaining": "0"},
        {"RateLimit": '"hour";r=0'},
    ],
)
def test_an_unreadable_header_is_none(
    open_held: OpenVariant, limited: Limited, headers: dict[str, str]
) -> None:
    limited.headers = headers
    open_held().call("dates")
    assert limited.probes() == pytest.approx(PROBES[:4])


def test_a_call_gives_up_after_the_second_full_hour(
    open_held: OpenVariant, limited: Limited, movable: MovableClock
) -> None:
    """Another call then asks at most once in ten minutes, and does not wait for hours again."""
    limited.until = BEGIN + timedelta(days=1)
    variant = open_held()
    with pytest.raises(
        errors.RateLimited, match="next try is due at 2026-01-20 14:10:05"
    ) as caught:
        variant.call("dates")
    assert movable.now == datetime(2026, 1, 20, 14, 0, 5, tzinfo=UTC)
    assert "ask the service why" in caught.value.remedy
    assert most_in_an_hour(round(moment.timestamp() * 1000) for moment in limited.refused) <= MOST
    before = len(limited.refused)
    for _ in range(2):
        with pytest.raises(errors.QuotaExceeded):
            variant.call("dates")
    movable.advance(600)
    with pytest.raises(errors.RateLimited):
        variant.call("dates")
    assert len(limited.refused) == before + 1
    movable.advance(7200)
    limited.until = movable.now + timedelta(seconds=20)
    variant.call("dates")


@pytest.mark.parametrize("quota", [QuotaPolicy(on_limit="raise"), QuotaPolicy(max_wait=10)])
def test_an_error_says_at_once_when_the_next_try_is_due(
    open_held: OpenVariant, limited: Limited, quota: QuotaPolicy
) -> None:
    variant, due = open_held(quota=quota), BEGIN + timedelta(seconds=20)
    with pytest.raises(errors.RateLimited, match=r"states no time.* 12:20:20 UTC") as refused:
        variant.call("dates")
    with pytest.raises(
        errors.QuotaExceeded,
        match=r"The service refused a request; asking again at 12:20:20 UTC \(in 20 s\)",
    ) as held:
        variant.call("dates")
    assert refused.value.resumes_at == held.value.resumes_at == due
    assert pickle.loads(pickle.dumps(refused.value)).resumes_at == due
    assert limited.clock.now == BEGIN
    assert len(limited.refused) == 1


def test_the_longest_wait_is_for_all_pauses_of_a_call_together(
    open_held: OpenVariant, limited: Limited
) -> None:
    with pytest.raises(errors.RateLimited):
        open_held(quota=QuotaPolicy(max_wait=400)).call("dates")
    assert limited.probes() == pytest.approx(PROBES[:4])
    assert limited.clock.now == BEGIN + timedelta(minutes=6)


def test_a_policy_scales_the_pauses(open_held: OpenVariant, limited: Limited) -> None:
    open_held(retry=RetryPolicy(longest_wait=3)).call("dates")
    tenths = [at / 10 for at in PROBES[:5]]
    assert limited.probes() == pytest.approx([*tenths, 2.6, 3.6, 4.6, 5.6, 6.6, 7.6])


def test_a_wait_says_why_and_when_it_asks_again(
    open_held: OpenVariant, limited: Limited, caplog: pytest.LogCaptureFixture
) -> None:
    notes = Notes()
    limited.until = BEGIN + timedelta(minutes=3)
    open_held(observer=notes).call("dates")
    waits = notes.of(WaitStarted)
    assert [wait.seconds for wait in waits] == pytest.approx([20, 40, 120])
    assert all(wait.asks_again for wait in waits)
    assert caplog.messages == [
        "The service refused a request; asking again at 12:20:20 UTC (in 20 s)",
        "The service refused a request; asking again at 12:21:00 UTC (in 40 s)",
        "The service refused a request; asking again at 12:23:00 UTC (in 2 min)",
    ]


def test_a_probe_that_fails_otherwise_leaves_the_key_to_the_next_one(
    open_held: OpenVariant, stand_in: StandIn, movable: MovableClock
) -> None:
    stand_in.says(Say(status=429), Say(status=503), Say(DATES))
    open_held().call("dates")
    assert BEGIN + timedelta(seconds=20) <= movable.now <= BEGIN + timedelta(seconds=21)


def quota_of(store: QuotaStore, now: list[float]) -> Quota:
    return Quota(None, reserve=0, store=store, now=lambda: Moment(now[0], now[0]))


REFUSED = ResponseHead(429, {})
PASSED = ResponseHead(200, {})


def permitted(quota: Quota) -> Permit:
    permit = quota.take()
    assert isinstance(permit, Permit)
    return permit


def test_one_probe_at_a_time_and_a_lost_or_failed_one_is_replaced() -> None:
    now = [BEGIN.timestamp()]
    store = QuotaStore(None)
    one, other = quota_of(store, now), quota_of(store, now)
    one.settle(permitted(one), REFUSED)
    now[0] += 20
    permitted(one)
    assert not isinstance(other.take(), Permit)
    now[0] += 60
    probe = permitted(other)
    for failure in (None, ResponseHead(503, {})):
        assert not isinstance(one.take(), Permit)
        other.settle(probe, failure)
        probe = permitted(other)
    other.settle(probe, PASSED)
    permitted(one)
    permitted(other)


def test_requests_in_flight_at_the_first_refusal_change_nothing() -> None:
    now = [BEGIN.timestamp()]
    quota = quota_of(QuotaStore(None), now)
    first, second, third, fourth = (permitted(quota) for _ in range(4))
    quota.settle(first, REFUSED)
    now[0] += 5
    quota.settle(second, REFUSED)
    quota.settle(third, PASSED)
    assert not isinstance(quota.take(), Permit)
    now[0] += 15
    quota.settle(permitted(quota), PASSED)
    quota.settle(fourth, REFUSED)
    permitted(quota)


WORKER = (
    FROZEN
    + """
from adanalytics_client import Client, QuotaPolicy
from pathlib import Path

told = Frozen()
told.begin()
client = Client(
    sys.argv[1],
    api_key="key",
    partner="acme",
    quota=QuotaPolicy(log=Path(sys.argv[2])),
    clock=told,
)
for _ in range(5):
    client.dates()
"""
)


def test_two_processes_ask_again_as_one(stand_in: StandIn, tmp_path: Path) -> None:
    clock = Clock()
    clock.freeze(BEGIN)
    shared = MovableClock()
    shared.of_server = clock
    stand_in.script = service = Limited(shared, BEGIN + timedelta(minutes=20))
    command = [sys.executable, "-c", WORKER, stand_in.url, str(tmp_path)]
    workers = [Worker.start(command, {"PATH": ""}) for _ in range(2)]
    assert run_all(workers, clock) == [0, 0]
    assert len(service.passed) == 10
    assert service.probes() == pytest.approx(PROBES[:5])
    assert service.passed[0] == BEGIN + timedelta(minutes=26)
