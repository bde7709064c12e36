"""The exact window: never more than the limit in any 3,600 seconds, whoever sends."""

from dataclasses import dataclass

from adanalytics_client._base.effects import ResponseHead
from adanalytics_client._quota.store import QuotaStore
from adanalytics_client._quota.window import Moment, Permit, Quota, Wait

ANSWER = ResponseHead(200, {})


@dataclass
class Machine:
    """True time, and the two clocks that a process can see: one may be set, one restarts."""

    true: float = 1_000_000.0
    set_by: float = 0.0
    started: float = 0.0

    def now(self) -> Moment:
        return Moment(self.true + self.set_by, self.true - self.started)


def quota_of(
    machine: Machine, limit: int | None, *, reserve: int = 0, store: QuotaStore | None = None
) -> Quota:
    return Quota(limit, reserve=reserve, store=store or QuotaStore(None), now=machine.now)


def sent(quota: Quota) -> Permit:
    leave = quota.take()
    assert isinstance(leave, Permit)
    return leave


def held(quota: Quota) -> float:
    leave = quota.take()
    assert isinstance(leave, Wait)
    return leave.seconds


def test_nothing_is_held_too_long() -> None:
    machine = Machine()
    quota = quota_of(machine, 2)
    quota.settle(sent(quota), ANSWER)
    machine.true += 10
    quota.settle(sent(quota), ANSWER)
    machine.true += 10
    assert held(quota) == 3580.0
    assert quota.state().remaining == 0
    machine.true += 3580
    assert quota.state().remaining == 1
    sent(quota)


def test_requests_on_their_way_count_until_they_must_have_arrived() -> None:
    machine = Machine()
    quota = quota_of(machine, 1)
    sent(quota)
    machine.true += 3600
    assert held(quota) == 300.0
    machine.true += 300
    sent(quota)


def test_a_request_without_an_answer_counts_until_it_must_have_arrived() -> None:
    """A timeout does not end a request that waits in a proxy: it may count five minutes later."""
    machine = Machine()
    quota = quota_of(machine, 1)
    lost = sent(quota)
    machine.true += 20
    quota.settle(lost, None)
    assert held(quota) == 3600 + 300 - 20
    machine.true += 3600 + 280
    answered = sent(quota)
    machine.true += 20
    quota.settle(answered, ANSWER)
    assert held(quota) == 3600


def test_less_left_at_the_service_is_believed_until_its_window_frees_up() -> None:
    machine, store = Machine(), QuotaStore(None)
    quota, other = (quota_of(machine, 1000, store=store) for _ in range(2))
    machine.true += 1
    quota.settle(sent(quota), ResponseHead(200, {"ratelimit": '"hour";r=1;t=60'}))
    assert other.state().remaining == 1
    machine.true += 1
    sent(other)
    machine.true += 1
    assert held(quota) == 58.0
    machine.true += 58
    sent(quota)


def test_what_is_on_its_way_is_taken_off_what_the_service_says() -> None:
    quota = quota_of(Machine(), 1000)
    first, second, _ = sent(quota), sent(quota), sent(quota)
    quota.settle(second, ResponseHead(200, {"ratelimit": '"hour";r=10;t=60'}))
    assert quota.state().remaining == 8
    quota.settle(first, ResponseHead(200, {"ratelimit": '"hour";r=9;t=60'}))
    assert quota.state().remaining == 8


def test_a_reserve_is_left_to_others() -> None:
    machine, store = Machine(), QuotaStore(None)
    job = quota_of(machine, 10, reserve=4, store=store)
    person = quota_of(machine, 10, store=store)
    for _ in range(3):
        job.settle(sent(job), ANSWER)
        person.settle(sent(person), ANSWER)
    assert (job.state().remaining, person.state().remaining) == (0, 4)
    assert held(job) == 3600.0
    person.settle(sent(person), ResponseHead(200, {"ratelimit": '"hour";r=3;t=60'}))
    assert person.state().remaining == 3


def test_a_reserve_is_kept_by_the_count_of_the_service_too() -> None:
    quota = quota_of(Machine(), 1000, reserve=200)
    quota.settle(sent(quota), ResponseHead(200, {"ratelimit": '"hour";r=201;t=1800'}))
    assert quota.state().remaining == 1
    sent(quota)
    assert held(quota) == 1800.0


def test_a_hold_is_news_once_and_holds_everybody() -> None:
    machine, store = Machine(), QuotaStore(None)
    quota, other = quota_of(machine, None, store=store), quota_of(machine, 5, store=store)
    assert quota.hold(100).is_new
    machine.true += 1
    assert not quota.hold(99).is_new
    machine.true += 49
    leave = quota.take()
    assert isinstance(leave, Wait)
    assert (leave.seconds, leave.is_new) == (50.0, False)
    assert held(other) == 50.0
    assert other.state().resumes_at is not None
    machine.true += 50
    sent(quota)
    sent(other)


def test_a_mistaken_hold_ends_for_others_after_an_hour() -> None:
    machine, store = Machine(), QuotaStore(None)
    assert quota_of(machine, 5, store=store).hold(1e9).seconds == 1e9
    assert held(quota_of(machine, 5, store=store)) == 3600.0


def test_an_answer_after_the_send_was_forgotten_still_counts() -> None:
    machine = Machine()
    quota = quota_of(machine, 2)
    slow = sent(quota)
    machine.true += 4000
    # Another send, which must not lose its place in the log to the late answer.
    quick = sent(quota)
    quota.settle(slow, ANSWER)
    quota.settle(quick, ANSWER)
    assert held(quota) == 3600.0


def test_setting_the_clock_changes_nothing() -> None:
    machine = Machine()
    quota = quota_of(machine, 1)
    quota.settle(sent(quota), ANSWER)
    for machine.set_by in (7200.0, -7200.0):
        assert held(quota) == 3600.0
    assert quota.state().remaining == 0


def test_after_a_restart_of_the_machine_the_wall_clock_counts() -> None:
    machine = Machine()
    quota = quota_of(machine, 2)
    for _ in range(2):
        quota.settle(sent(quota), ANSWER)
        machine.true += 100
    machine.started = machine.true
    assert held(quota) == 3400.0
    machine.true += 3400
    assert quota.state().remaining == 1
