"""Too many requests: what the service says about it, and the client's own window."""

import pickle
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from tests.client.moved_clock import MovedClock
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import QuotaPolicy, RetryPolicy, errors

DATES = {"dates": ["2026-01-15"]}


@pytest.mark.parametrize("form", ["seconds", "date", "ratelimit", "reset", "epoch"])
def test_429_waits_as_long_as_the_service_says(
    variant: Variant, stand_in: StandIn, clock: MovedClock, form: str
) -> None:
    until = clock.now + 120
    headers = {
        "seconds": {"Retry-After": "120", "RateLimit": '"hour";r=0;t=9'},
        "date": {"Retry-After": format_datetime(datetime.fromtimestamp(until, tz=UTC))},
        "ratelimit": {"RateLimit": '"hour";r=0;t=120', "X-RateLimit-Reset": "7"},
        "reset": {"X-RateLimit-Reset": "120", "Retry-After": "soon"},
        "epoch": {"X-RateLimit-Reset": str(int(until))},
    }[form]
    stand_in.says(Say({"error": "Too Many Requests"}, status=429, headers=headers), Say(DATES))
    assert len(variant.call("dates")) == 1
    assert clock.sleeps == [120.0]


def test_403_with_retry_after_is_a_limit_too(
    variant: Variant, stand_in: StandIn, clock: MovedClock
) -> None:
    stand_in.says(Say(status=403, headers={"Retry-After": "5"}), Say(DATES))
    variant.call("dates")
    assert clock.sleeps == [5.0]


@pytest.mark.parametrize("quota", [QuotaPolicy(on_limit="raise"), QuotaPolicy(max_wait=60)])
def test_429_raises_where_waiting_is_not_allowed(
    open_variant: OpenVariant, stand_in: StandIn, quota: QuotaPolicy
) -> None:
    stand_in.says(Say(status=429, headers={"Retry-After": "120"}))
    with pytest.raises(errors.RateLimited) as caught:
        open_variant(quota=quota).call("dates")
    assert caught.value.retry_after == 120.0
    assert pickle.loads(pickle.dumps(caught.value)).retry_after == 120.0
    assert len(stand_in.asked) == 1


def test_the_own_window_holds_without_any_header(
    open_variant: OpenVariant, stand_in: StandIn, clock: MovedClock
) -> None:
    stand_in.says(Say(DATES))
    variant = open_variant(quota=QuotaPolicy(limit=3))
    for _ in range(4):
        variant.call("dates")
    assert clock.sleeps == [3600.0]
    assert variant.client.quota.remaining == 2


def test_a_used_up_quota_raises_where_waiting_is_not_allowed(
    open_variant: OpenVariant, stand_in: StandIn, clock: MovedClock
) -> None:
    stand_in.says(Say(DATES))
    variant = open_variant(quota=QuotaPolicy(limit=1, on_limit="raise"))
    variant.call("dates")
    with pytest.raises(errors.QuotaExceeded) as caught:
        variant.call("dates")
    resumes_at = datetime.fromtimestamp(clock.now + 3600, tz=UTC)
    assert caught.value.resumes_at == resumes_at
    assert 'on_limit="wait"' in caught.value.remedy
    assert pickle.loads(pickle.dumps(caught.value)).resumes_at == resumes_at
    assert len(stand_in.asked) == 1


def test_a_hold_of_the_service_is_not_called_a_used_up_quota(
    open_variant: OpenVariant, stand_in: StandIn
) -> None:
    stand_in.says(Say(status=429, headers={"Retry-After": "30", "RateLimit": '"hour";r=998;t=9'}))
    variant = open_variant(quota=QuotaPolicy(on_limit="raise"))
    with pytest.raises(errors.RateLimited):
        variant.call("dates")
    with pytest.raises(
        errors.QuotaExceeded,
        match=r"The service asked to slow down; resuming at \d\d:\d\d:\d\d UTC \(in",
    ):
        variant.call("dates")


def test_the_service_knows_better_how_much_is_left(variant: Variant, stand_in: StandIn) -> None:
    stand_in.says(Say(DATES, headers={"RateLimit": '"hour";r=7;t=1800'}))
    assert variant.client.quota.remaining == 1000
    variant.call("dates")
    assert variant.client.quota.remaining == 7


def test_a_waiting_pull_says_so_once(
    open_variant: OpenVariant, stand_in: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    def script(asked: Asked) -> Say:
        hour = asked.query.get("hour")
        return Say({"events": [{"h": hour}], "total": 24 if hour is None else 1})

    stand_in.script = script
    # All threads share the moved clock, so one thread's wait would use up the budget of another.
    variant = open_variant(quota=QuotaPolicy(limit=20), retry=RetryPolicy(budget=1e9))
    assert len(variant.rows("2026-01-15", concurrency=4)) == 24
    assert caplog.messages == ["Quota used up; resuming at 09:00:00 UTC (in 60 min)"]
    assert [each.levelname for each in caplog.records] == ["WARNING"]


@pytest.mark.parametrize(
    ("seconds", "message"), [(5, []), (30, ["(in 30 s)"]), (300, ["(in 5 min)"])]
)
def test_a_wait_of_more_than_five_seconds_is_a_warning(
    variant: Variant,
    stand_in: StandIn,
    caplog: pytest.LogCaptureFixture,
    seconds: int,
    message: list[str],
) -> None:
    stand_in.says(Say(status=429, headers={"Retry-After": str(seconds)}), Say(DATES))
    variant.call("dates")
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


def test_a_clock_that_moves_too_little_makes_no_endless_wait(
    open_variant: OpenVariant, stand_in: StandIn
) -> None:
    stand_in.says(Say(status=429), Say(DATES))
    clock = CoarseClock()
    assert len(open_variant(clock=clock).call("dates")) == 1
    stand_in.says(Say({"status": "running", "status_url": "/st"}))
    variant = open_variant(clock=clock)
    job = variant.call("start_export", "2026-01-15")
    with pytest.raises(errors.ExportTimeout):
        variant.on(job, "wait", timeout=3.4)
    assert len(stand_in.asked) < 10
