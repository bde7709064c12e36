"""A 429 that states no time: all clients of the key wait, and one request at a time asks again."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
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

DAY = "2026-01-15"
DATES = {"dates": [DAY]}
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
