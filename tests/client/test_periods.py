"""Periods in words, by the client's own clock: it stands at 2027-01-15 08:00 UTC."""

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from tests.client.stand_in import Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import ConfigurationError

PERIODS = [
    (("today",), ("2027-01-15", "2027-01-15")),
    (("yesterday",), ("2027-01-14", "2027-01-14")),
    (("2026-02",), ("2026-02-01", "2026-02-28")),
    (("2026-02-27", "2026-02"), ("2026-02-27", "2026-02-28")),
    (("last-month",), ("2026-12-01", "2026-12-31")),
    (("2026-Q3", "this-month"), ("2026-07-01", "2027-01-15")),
    (("2027",), ("2027-01-01", "2027-01-15")),
    (("-7d",), ("2027-01-09", "2027-01-15")),
    (("-1d",), ("2027-01-15", "2027-01-15")),
    (("-7d", "yesterday"), ("2027-01-08", "2027-01-14")),
    ((date(2026, 3, 1), "-300d"), ("2026-03-01", "2026-03-21")),
    ((20260301, "20260302"), ("2026-03-01", "2026-03-02")),
    (
        (datetime(2026, 3, 1), datetime(2026, 3, 1, 23, tzinfo=timezone(-timedelta(hours=2)))),  # noqa: DTZ001
        ("2026-03-01", "2026-03-02"),
    ),
    (
        (pd.Timestamp("2026-03-01 23:59"), np.datetime64("2026-03-02T00", "ns")),
        ("2026-03-01", "2026-03-02"),
    ),
]


@pytest.mark.parametrize(("words", "days"), PERIODS)
def test_every_method_takes_the_same_words(
    variant: Variant, stand_in: StandIn, words: tuple[str, ...], days: tuple[str, str]
) -> None:
    stand_in.says_by_name(
        events=[Say({"events": []})],
        summary=[Say({"summary": [{}]})],
        bulk_export=[Say({"url": "/f.csv"})],
    )
    variant.rows(*words, split="none")
    variant.call("summary", *words)
    job = variant.call("start_export", *words)
    for asked in stand_in.asked[:2]:
        assert (asked.query["start_date"], asked.query["end_date"]) == days
    assert (str(job.order.start), str(job.order.end)) == days


@pytest.mark.parametrize(
    "word", ["tomorrow", "2026-13", "7d", "2026115", "", None, 5, 20261301, True, pd.NaT]
)
def test_another_word_is_an_error_that_says_what_to_write(variant: Variant, word: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^start: .* YYYY-MM-DD, today, yesterday, -7d"):
        variant.client.events(word)


def test_an_export_to_a_file_takes_them_too(
    open_variant: OpenVariant, stand_in: StandIn, tmp_path: object
) -> None:
    stand_in.says_by_name(bulk_export=[Say({"url": "/f.csv"})], f_csv=[Say(b"a,b\n1,2\n")])
    open_variant().call("export", "2026-02", to=f"{tmp_path}/out.csv")
    assert b'"end_date": "2026-02-28"' in stand_in.asked[0].body
