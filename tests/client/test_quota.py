"""The exact window: never more than the limit in any 3,600 seconds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from adanalytics_client._effects import Head
from adanalytics_client._quota import Hold, Quota, Sent


@settings(max_examples=100, deadline=None)
@given(
    limit=st.integers(1, 6),
    steps=st.lists(st.tuples(st.floats(0, 1500), st.floats(0, 20)), min_size=1, max_size=40),
)
def test_no_window_holds_more_than_the_limit(limit: int, steps: list[tuple[float, float]]) -> None:
    """Each step lets time pass, sends as soon as allowed, and is answered some time later."""
    quota, now, sent_at = Quota(limit), 1_000_000.0, list[float]()
    for pause, answer_after in steps:
        now += pause
        leave = quota.take(now)
        while isinstance(leave, Hold):
            assert leave.seconds > 0
            now += leave.seconds
            leave = quota.take(now)
        sent_at.append(now)
        quota.settle(leave, now + answer_after, None)
        now += answer_after
    for moment in sent_at:
        assert sum(moment - 3600 < each <= moment for each in sent_at) <= limit


def test_nothing_is_held_too_long() -> None:
    quota = Quota(2)
    for moment in (0.0, 10.0):
        sent = quota.take(moment)
        assert isinstance(sent, Sent)
        quota.settle(sent, moment, None)
    held = quota.take(20.0)
    assert isinstance(held, Hold)
    assert held.seconds == 3580.0
    assert isinstance(quota.take(3600.0), Sent)


def test_requests_on_their_way_count() -> None:
    quota = Quota(2)
    assert isinstance(quota.take(0.0), Sent)
    assert isinstance(quota.take(0.0), Sent)
    assert isinstance(quota.take(0.0), Hold)


def test_less_left_at_the_service_is_believed_until_its_window_frees_up() -> None:
    quota = Quota(1000)
    sent = quota.take(0.0)
    assert isinstance(sent, Sent)
    quota.settle(sent, 1.0, Head(200, {"ratelimit": '"hour";r=1;t=60'}))
    assert quota.state(1.0).remaining == 1
    assert isinstance(quota.take(2.0), Sent)
    held = quota.take(3.0)
    assert isinstance(held, Hold)
    assert held.seconds == 58.0
    assert isinstance(quota.take(61.0), Sent)


def test_a_hold_is_news_once() -> None:
    quota = Quota(None)
    assert quota.hold(100.0, 0.0).news
    assert not quota.hold(100.0, 1.0).news
    held = quota.take(50.0)
    assert isinstance(held, Hold)
    assert (held.seconds, held.news) == (50.0, False)
    assert quota.state(50.0).resumes_at is not None
    assert isinstance(quota.take(100.0), Sent)
