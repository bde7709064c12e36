"""Rules that are tables: limits, waits, days, periods in words, addresses, amounts, secrets."""

import pickle
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.client.bench import Bench
from tests.client.stand_in import Say
from tests.client.variants import Variant

from adanalytics_client import Client, ConfigurationError, Event, RetryPolicy
from adanalytics_client._base.dates import to_day, to_range
from adanalytics_client._base.effects import ResponseHead
from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.urls import origin_of, redact_url
from adanalytics_client._quota.headers import rate_window, retry_after

NOW = 1_800_000_000.0
YEAR = 366 * 86_400.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:01:00 GMT"}, 60.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "99999999999"}, YEAR),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, YEAR),
        ({"retry-after": ", ,", "ratelimit": '"hour";r=0;t=30'}, 30.0),
        ({"retry-after": "Fri, 99 Jan 2027 08:01:00 GMT"}, None),
        ({"retry-after": "\u0663"}, None),
        ({"ratelimit": '"hour";r=0;t=30'}, 30.0),
        ({"ratelimit": "junk"}, None),
        ({"ratelimit": '"a,b";r=5;t=1, "hour";r=0;t=30, "day";r=9;t=7'}, 30.0),
        ({"ratelimit": "limit=1000, remaining=0, reset=30"}, 30.0),
        ({"ratelimit-reset": "45", "ratelimit-remaining": "0"}, 45.0),
        ({"x-ratelimit-reset": "45"}, 45.0),
        ({"x-ratelimit-reset": "1800000090"}, 90.0),
        ({"x-ratelimit-reset": "1700000000"}, 0.0),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(ResponseHead(429, headers), NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "left"),
    [
        ({"ratelimit": '"hour";r=997;t=1800'}, (997, 1800.0)),
        ({"ratelimit": "limit=1000, remaining=3, reset=30"}, (3, 30.0)),
        ({"ratelimit-remaining": "3", "ratelimit-reset": "45"}, (3, 45.0)),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "45"}, (3, 45.0)),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "1800000090"}, (3, 90.0)),
        ({"x-ratelimit-remaining": "3"}, None),
        ({"x-ratelimit-remaining": "many", "x-ratelimit-reset": "45"}, None),
        ({}, None),
    ],
)
def test_how_many_are_left(headers: dict[str, str], left: tuple[int, float] | None) -> None:
    assert rate_window(ResponseHead(200, headers), NOW) == left


def test_waits_grow_to_a_bound_and_are_never_earlier_than_asked() -> None:
    policy = RetryPolicy(first_wait=1, longest_wait=10)
    assert [policy.bound(each) for each in range(6)] == [1, 2, 4, 8, 10, 10]
    assert policy.bound(5000) == 10
    assert 0 <= policy.wait(5000, None) < 10
    assert policy.wait(0, 60.0) == 60.0
    for wrong in ({"attempts": 0}, {"first_wait": -1}, {"budget": 0}):
        with pytest.raises(ConfigurationError):
            RetryPolicy(**wrong)


@pytest.mark.parametrize(
    "wrong", ["2026-1-5", "2026-W01-1", "\u0662026-01-05", "20260132", "today", 5, None]
)
def test_only_plain_days_pass(wrong: Any) -> None:
    with pytest.raises(ConfigurationError):
        to_day(wrong, "start")


def test_a_range_defaults_to_one_day() -> None:
    day = date(2026, 1, 5)
    for start, end in (("2026-01-05", None), (day, day)):
        assert to_range(start, end, today=day) == (day, day)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://x.example/a?start_date=2026-01-01&page=2", "start_date=2026-01-01&page=2"),
        ("https://x.example/a?page=2&X-Amz-Signature=abc", "page=2&***"),
        ("https://u:pw@x.example/a?abc", "***"),
    ],
)
def test_addresses_are_shown_without_what_may_be_signed(url: str, shown: str) -> None:
    assert redact_url(url) == f"https://x.example/a?{shown}"


def test_origins_differ_by_scheme_host_and_port() -> None:
    assert origin_of("https://x.example/a") == origin_of("HTTPS://X.example:443/b")
    others = ["http://x.example", "https://y.example", "https://x.example:444", "/a", "https://x:y"]
    assert all(origin_of(other) != origin_of("https://x.example") for other in others)


def test_money_is_written_plainly_unless_that_is_absurdly_long() -> None:
    plain = Event.model_validate({"revenue": "0E-9", "cost": "1E999999999"})
    written = plain.model_dump_json(include={"revenue", "cost"})
    assert written == '{"revenue":"0.000000000","cost":"1E+999999999"}'


def test_a_secret_has_no_readable_form() -> None:
    secret = Secret("hidden")
    assert "hidden" not in f"{secret} {secret!r}"
    assert secret.redact("a hidden thing") == "a *** thing"
    assert Secret("th").redact("a hidden thing") == "a hidden thing"
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(secret)


def test_who_pickles_a_client_is_told_to_make_one_there() -> None:
    client = Client("https://stats.example", api_key="k", partner="acme")
    with pytest.raises(TypeError, match=r"A client .* cannot be pickled; make one where"):
        pickle.dumps(client.events("2026-01-15"))


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
    bench: Bench, words: tuple[str, ...], days: tuple[str, str]
) -> None:
    bench.says(
        events=[Say({"events": []})],
        summary=[Say({"summary": [{}]})],
        bulk_export=[Say({"url": "/f.csv"})],
    )
    bench.rows(*words, split="none")
    bench.call("summary", *words)
    job = bench.call("start_export", *words)
    for asked in bench.asked[:2]:
        assert (asked.query["start_date"], asked.query["end_date"]) == days
    assert (str(job.order.start), str(job.order.end)) == days


@pytest.mark.parametrize(
    "word", ["tomorrow", "2026-13", "7d", "2026115", "", None, 5, 20261301, True, pd.NaT]
)
def test_another_word_is_an_error_that_says_what_to_write(variant: Variant, word: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^start: .* YYYY-MM-DD, today, yesterday, -7d"):
        variant.client.events(word)


def test_an_export_to_a_file_takes_them_too(bench: Bench, tmp_path: object) -> None:
    bench.says(bulk_export=[Say({"url": "/f.csv"})], f_csv=[Say(b"a,b\n1,2\n")])
    bench.open().call("export", "2026-02", to=f"{tmp_path}/out.csv")
    assert b'"end_date": "2026-02-28"' in bench.asked[0].body
