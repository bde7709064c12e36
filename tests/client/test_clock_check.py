"""A clock that is far from the service's is told about once; both variants."""

from email.utils import formatdate

import pytest
from tests.client.moved_clock import MovedClock
from tests.client.stand_in import Say, StandIn
from tests.client.variants import Variant

HOUR = 3600
YEAR = 365 * 24 * HOUR


def dated(seconds: float) -> Say:
    return Say({"dates": []}, headers={"Date": formatdate(seconds, usegmt=True)})


@pytest.mark.parametrize(
    ("away", "message"), [(YEAR, "365 days, 0:00:00 behind"), (-YEAR, "365 days, 0:00:00 ahead of")]
)
def test_a_clock_a_year_off_is_a_warning_once(
    variant: Variant,
    stand_in: StandIn,
    clock: MovedClock,
    caplog: pytest.LogCaptureFixture,
    away: int,
    message: str,
) -> None:
    stand_in.says(dated(clock.now + away))
    variant.call("dates")
    variant.call("dates")
    variant.on(variant.client.with_options(timeout=5), "dates")
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert f"is {message} the service's" in record.message


@pytest.mark.parametrize("date", [0, HOUR, -HOUR, None])
def test_an_hour_is_nothing_to_tell(
    variant: Variant,
    stand_in: StandIn,
    clock: MovedClock,
    caplog: pytest.LogCaptureFixture,
    date: int | None,
) -> None:
    stand_in.says(Say({"dates": []}) if date is None else dated(clock.now + date))
    variant.call("dates")
    assert not caplog.records


def test_a_date_that_is_none_is_no_date(
    variant: Variant, stand_in: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    stand_in.says(Say({"dates": []}, headers={"Date": "yesterday"}))
    variant.call("dates")
    assert not caplog.records
