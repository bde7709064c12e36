"""START and END in every form that is accepted, and the words for those that are not."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import click
import pytest
from click.testing import Result

from adanalytics_cli.core.periods import period
from adanalytics_client import ConfigurationError, Period
from adanalytics_server.local import LocalServer

TODAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("word", "first", "last"),
    [
        ("2026-01-15", date(2026, 1, 15), date(2026, 1, 15)),
        ("today", TODAY, TODAY),
        ("yesterday", date(2026, 2, 28), date(2026, 2, 28)),
        ("2026-02-28", date(2026, 2, 28), date(2026, 2, 28)),
        ("2026-01", date(2026, 1, 1), date(2026, 1, 31)),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
        ("2026-12", date(2026, 12, 1), date(2026, 12, 31)),
        ("2026-03", TODAY, TODAY),
        ("this-month", TODAY, TODAY),
        ("last-month", date(2026, 2, 1), date(2026, 2, 28)),
        ("2025", date(2025, 1, 1), date(2025, 12, 31)),
        ("2026", date(2026, 1, 1), TODAY),
        ("2025-Q4", date(2025, 10, 1), date(2025, 12, 31)),
        ("2026-Q1", date(2026, 1, 1), TODAY),
    ],
)
def test_form(word: str, first: date, last: date) -> None:
    found = Period.parse(word, TODAY)
    assert (found.first, found.last, found.until, found.since) == (first, last, None, None)


def test_the_month_before_january() -> None:
    january = Period.parse("last-month", date(2026, 1, 31))
    assert (january.first, january.last) == (date(2025, 12, 1), date(2025, 12, 31))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("2026-02-30", "not in the calendar"),
        ("2026-13", "not in the calendar"),
        ("0000-01", "not in the calendar"),
        ("2026115", "not a date"),
        ("2026-1-5", "not a date"),
        ("2026-Q5", "not a date"),
        ("0000", "not in the calendar"),
        ("15.01.2026", "not a date"),
        ("tomorrow", "not a date"),
        ("", "not a date"),
        ("\u0662\u0660\u0662\u0666-\u0660\u0661-\u0661\u0665", "not a date"),
        ("2026-01-15T00:00", "not a date"),
    ],
)
def test_refused_form(word: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        Period.parse(word, TODAY)
    assert "yesterday" in str(caught.value)


def test_more_days_back_than_the_calendar_has() -> None:
    with pytest.raises(ConfigurationError, match="not in the calendar"):
        Period.parse("-99999d", date(99, 1, 1))


@pytest.mark.parametrize(
    ("word", "first", "alone"),
    [
        ("-7d", date(2026, 2, 22), date(2026, 2, 23)),
        ("-1d", date(2026, 2, 28), TODAY),
        (" -0d", TODAY, TODAY),
    ],
)
def test_days_ago_alone_are_as_many_days_until_today(word: str, first: date, alone: date) -> None:
    ago = Period.parse(word, TODAY)
    assert (ago.first, ago.last) == (first, first)
    assert period(ago, None) == (alone, TODAY)
    assert period(ago, Period.parse("today", TODAY)) == (first, TODAY)
    assert period(ago, ago) == (first, first)
    assert period(Period.parse("2026-01", TODAY), ago) == (date(2026, 1, 1), first)


def test_end_defaults_to_the_end_of_start() -> None:
    january = Period.parse("2026-01", TODAY)
    assert period(january, None) == (date(2026, 1, 1), date(2026, 1, 31))


def test_a_month_as_end_means_its_last_day() -> None:
    assert period(Period.parse("2026-01-10", TODAY), Period.parse("2026-02", TODAY)) == (
        date(2026, 1, 10),
        date(2026, 2, 28),
    )


def test_end_before_start() -> None:
    with pytest.raises(click.UsageError, match="before START 2026-03-01"):
        period(Period.parse("today", TODAY), Period.parse("yesterday", TODAY))


def test_days_to_come_are_not_asked_for(
    run: Callable[..., Result], service: LocalServer, folder: Path
) -> None:
    """It is noon on 2026-01-20; a START of tomorrow is taken, as this clock may be behind."""
    service.journal.clear()
    words = ("--split", "hourly", "-o", str(folder / "rows.jsonl"))
    done = run("events", "2026-01-19", "2026-03", *words)
    first, closing, *_ = done.stderr.splitlines()
    assert first == "2026-03-31 is in the future, so the period ends on 2026-01-20."
    assert closing.startswith("0 events of ")
    asked = [dict(each.query)["start_date"] for each in service.journal.entries()]
    assert sorted({*asked}) == ["2026-01-19", "2026-01-20"]
    assert len(asked) == 24 + 13
    plan = run("plan", "2026-01-19", "2026-03", "-q", "-f", "json")
    assert (plan.stderr, json.loads(plan.stdout)["prices"][0]["requests"]) == ("", len(asked))
    assert run("events", "2026-01-21", "-f", "csv").stderr.startswith("0 events of ")


@pytest.mark.parametrize(
    ("split", "hour", "sent"), [("auto", 13, 0), ("daily", 13, 0), ("daily", 12, 1)]
)
def test_an_hour_that_has_not_begun_is_not_asked_for(
    run: Callable[..., Result], service: LocalServer, split: str, hour: int, sent: int
) -> None:
    service.journal.clear()
    words = ("--hour", str(hour), "--split", split, "-f", "csv")
    done = run("events", "today", *words)
    assert (done.exit_code, len([*service.journal.entries()])) == (0, sent)
