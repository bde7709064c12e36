"""ISO 8601 in, whole milliseconds of UTC out."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_server.clock import rfc3339
from adanalytics_server.loading.values import parse_timestamp


@pytest.mark.parametrize(
    ("text", "canonical", "zoned"),
    [
        ("2026-01-15T00:00:00Z", "2026-01-15T00:00:00.000Z", True),
        ("2026-01-15t00:00:00z", "2026-01-15T00:00:00.000Z", True),
        ("2026-01-15 13:05", "2026-01-15T13:05:00.000Z", False),
        ("2026-01-15 13:05:09.9", "2026-01-15T13:05:09.900Z", False),
        ("2026-01-15 13:05:09,1239999999+00:00", "2026-01-15T13:05:09.123Z", True),
        ("2026-01-15T23:59:59.9999999Z", "2026-01-15T23:59:59.999Z", True),
        ("2026-01-15T00:30:00+01", "2026-01-14T23:30:00.000Z", True),
        ("2026-01-15T00:30:00+0545", "2026-01-14T18:45:00.000Z", True),
        ("2026-12-31T23:30:00-12:00", "2027-01-01T11:30:00.000Z", True),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z", True),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z", True),
    ],
)
def test_known_forms(text: str, canonical: str, zoned: bool) -> None:
    instant = parse_timestamp(text)
    assert (rfc3339(instant.milliseconds), instant.zoned) == (canonical, zoned)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-15",
        "2026-1-15T00:00:00Z",
        "20260115T000000Z",
        "2026-W03-4T00:00:00",
        "2026-01-15T24:00:00Z",
        "2026-01-15T12:60:00Z",
        "2026-01-15T12:00:60Z",
        "2026-01-15T12:00:00+24:00",
        "2026-01-15T12:00:00+01:60",
        "2026-01-15T12:00:00 UTC",
        "2026-02-30T12:00:00Z",
        "2026-01-15T12:00:00Z\n",
        "٢٠٢٦-01-15T12:00:00Z",
        "0999-12-31T23:00:00Z",
        "1000-01-01T00:00:00+01:00",
        "9999-12-31T23:30:00-01:00",
        "1736942400",
    ],
)
def test_other_forms_and_times_that_do_not_exist(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not |does not exist|is outside"):
        parse_timestamp(text)


@given(
    st.datetimes(min_value=datetime(1000, 1, 2), max_value=datetime(9999, 12, 30)),  # noqa: DTZ001  # the zone comes next
    st.integers(-23 * 60 - 59, 23 * 60 + 59),
    st.sampled_from("T "),
)
def test_every_time_in_every_zone_is_cut_to_the_millisecond(
    moment: datetime, minutes: int, separator: str
) -> None:
    local = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    instant = parse_timestamp(local.isoformat(separator))
    since = local - datetime(1970, 1, 1, tzinfo=UTC)
    assert instant == (since // timedelta(milliseconds=1), True)
    assert parse_timestamp(rfc3339(instant.milliseconds)) == instant
