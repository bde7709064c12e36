"""START and END in every form that is accepted, and the words for those that are not."""

import json
from datetime import UTC, date, datetime
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.cli.run import run

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.periods import period
from adanalytics_cli.main import cli
from adanalytics_client import ConfigurationError, Period
from adanalytics_server.local import LocalServer

TODAY = date(2026, 3, 1)
AT_NOON = Invocation(clock=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    ("word", "today", "first", "last"),
    [
        ("2026-01-15", "2026-03-01", "2026-01-15", "2026-01-15"),
        ("today", "2026-03-01", "2026-03-01", "2026-03-01"),
        ("yesterday", "2026-03-01", "2026-02-28", "2026-02-28"),
        ("2026-02-28", "2026-03-01", "2026-02-28", "2026-02-28"),
        ("2026-01", "2026-03-01", "2026-01-01", "2026-01-31"),
        ("2024-02", "2026-03-01", "2024-02-01", "2024-02-29"),
        ("2026-12", "2026-03-01", "2026-12-01", "2026-12-31"),
        ("2026-03", "2026-03-01", "2026-03-01", "2026-03-01"),
        ("this-month", "2026-03-01", "2026-03-01", "2026-03-01"),
        ("last-month", "2026-03-01", "2026-02-01", "2026-02-28"),
        ("last-month", "2026-01-31", "2025-12-01", "2025-12-31"),
        ("2025", "2026-03-01", "2025-01-01", "2025-12-31"),
        ("2026", "2026-03-01", "2026-01-01", "2026-03-01"),
        ("2025-Q4", "2026-03-01", "2025-10-01", "2025-12-31"),
        ("2026-Q1", "2026-03-01", "2026-01-01", "2026-03-01"),
        ("mtd", "2026-03-01", "2026-02-01", "2026-02-28"),
        ("mtd", "2026-03-02", "2026-03-01", "2026-03-01"),
        ("mtd", "2026-01-01", "2025-12-01", "2025-12-31"),
        ("last-week", "2026-03-02", "2026-02-23", "2026-03-01"),
        ("last-week", "2026-03-08", "2026-02-23", "2026-03-01"),
        ("2026-W01", "2026-03-08", "2025-12-29", "2026-01-04"),
        ("2020-W53", "2026-03-08", "2020-12-28", "2021-01-03"),
        ("2026-W10", "2026-03-04", "2026-03-02", "2026-03-04"),
        ("2026-02..yesterday", "2026-03-08", "2026-02-01", "2026-03-07"),
        (" 2026-02-03..2026-02-03", "2026-03-08", "2026-02-03", "2026-02-03"),
    ],
)
def test_form(word: str, today: str, first: str, last: str) -> None:
    found = Period.parse(word, date.fromisoformat(today))
    assert (str(found.first), str(found.last)) == (first, last)
    assert (found.until, found.since) == (None, None)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("2026-02-30", "not in the calendar"),
        ("2026-13", "not in the calendar"),
        ("0000-01", "not in the calendar"),
        ("0000", "not in the calendar"),
        ("2026-W54", "not in the calendar"),
        ("2021-W53", "not in the calendar"),
        ("2026115", "not a date"),
        ("2026-1-5", "not a date"),
        ("2026-Q5", "not a date"),
        ("15.01.2026", "not a date"),
        ("tomorrow", "not a date"),
        ("", "not a date"),
        ("\u0662\u0660\u0662\u0666-\u0660\u0661-\u0661\u0665", "not a date"),
        ("2026-01-15T00:00", "not a date"),
        ("2026-02-03..", "not a date"),
        ("..", "not a date"),
        ("-30", r"Did you mean -30d\?"),
        ("2026-02-03..2026-02-01", "Swap its ends"),
    ],
)
def test_refused_form(word: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        Period.parse(word, TODAY)
    assert ("yesterday" in str(caught.value)) == said.startswith("not")


def test_more_days_back_than_the_calendar_has() -> None:
    with pytest.raises(ConfigurationError, match="not in the calendar"):
        Period.parse("-99999d", date(99, 1, 1))


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        (["2026-02"], "2026-01-01", "2026-01-28"),
        (["2025-12"], "2025-11-01", "2025-11-30"),
        (["this-month"], "2026-02-01", "2026-02-20"),
        (["mtd"], "2026-02-01", "2026-02-19"),
        (["2025-Q4"], "2025-07-01", "2025-09-30"),
        (["2026-Q1"], "2025-10-01", "2025-12-18"),
        (["2026"], "2025-01-01", "2025-03-20"),
        (["2026-01", "2026-02"], "2025-11-01", "2025-12-29"),
        (["2026-01..2026-02"], "2025-11-01", "2025-12-29"),
        (["last-week"], "2026-03-02", "2026-03-08"),
        (["2026-W12"], "2026-03-09", "2026-03-13"),
        (["yesterday"], "2026-03-18", "2026-03-18"),
        (["-7d"], "2026-03-07", "2026-03-13"),
        (["2026-02-10", "2026-02-12"], "2026-02-07", "2026-02-09"),
        (["2026-02-10..2026-02-12"], "2026-02-07", "2026-02-09"),
    ],
)
def test_the_period_before(words: list[str], first: str, last: str) -> None:
    start, *end = (Period.parse(word, date(2026, 3, 20)) for word in words)
    assert tuple(map(str, start.before(*end))) == (first, last)


@pytest.mark.parametrize("year", [2027, 2028])
@pytest.mark.parametrize("word", ["this-month", "quarter", "year"])
def test_the_rule_is_the_same_on_each_day(year: int, word: str) -> None:
    """On the last days of months, too, of a leap year and a common year, without `Period`."""
    for ordinal in range(date(year, 1, 1).toordinal(), date(year + 1, 1, 1).toordinal()):
        today = date.fromordinal(ordinal)
        months = {"this-month": 1, "quarter": 3, "year": 12}[word]
        begin = date(year, (today.month - 1) // months * months + 1, 1)
        number = (begin.month - months - 1) % 12 + 1
        earlier = date(begin.year - (months == 12 or number > begin.month), number, 1)
        expected = [
            earlier.fromordinal(earlier.toordinal() + n) for n in range((today - begin).days + 1)
        ]
        expected = [day for day in expected if day < begin]
        text = {"quarter": f"{year}-Q{begin.month // 3 + 1}", "year": f"{year}"}.get(word, word)
        period = Period.parse(text, today)
        assert (period.first, period.last) == (begin, today)
        assert period.before() == (expected[0], expected[-1])
    assert Period.parse("2026-03", date(2026, 3, 30)).before()[-1] == date(2026, 2, 28)


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
    assert period(AT_NOON, ago, None) == (alone, TODAY)
    assert period(AT_NOON, ago, Period.parse("today", TODAY)) == (first, TODAY)
    assert period(AT_NOON, ago, ago) == (first, first)
    assert period(AT_NOON, Period.parse("2026-01", TODAY), ago) == (date(2026, 1, 1), first)


def test_end_defaults_to_the_end_of_start() -> None:
    january = Period.parse("2026-01", TODAY)
    assert period(AT_NOON, january, None) == (date(2026, 1, 1), date(2026, 1, 31))


def test_a_month_as_end_means_its_last_day() -> None:
    assert period(AT_NOON, Period.parse("2026-01-10", TODAY), Period.parse("2026-02", TODAY)) == (
        date(2026, 1, 10),
        date(2026, 2, 28),
    )


def test_end_before_start() -> None:
    with pytest.raises(click.UsageError, match="before START 2026-03-01"):
        period(AT_NOON, Period.parse("today", TODAY), Period.parse("yesterday", TODAY))


@pytest.mark.usefixtures("noon")
def test_days_to_come_are_not_asked_for(service: LocalServer, folder: Path) -> None:
    """It is noon on 2026-01-20."""
    service.journal.clear()
    words = ("--split", "hourly", "-o", str(folder / "rows.jsonl"))
    done = run("events", "2026-01-19", "2026-03", *words)
    first, closing, *_ = done.stderr.splitlines()
    assert first == "2026-03-31 is in the future, so the period ends on 2026-01-20."
    assert closing.startswith("0 events of ")
    queries = [dict(entry.query) for entry in service.journal.entries()]
    asked = [query["start_date"] for query in queries if "hour" in query]
    assert sorted({*asked}) == ["2026-01-19", "2026-01-20"]
    assert len(asked) == 24 + 13
    # The count of a file, and `dates`, because nothing arrived.
    assert len(queries) == 24 + 13 + 2
    plan = run("plan", "2026-01-19", "2026-03", "-q", "--json")
    assert (plan.stderr, json.loads(plan.stdout)["prices"][0]["requests"]) == ("", len(asked))


REFUSED = "2026-01-21 is in the future. Today is 2026-01-20 in UTC."


@pytest.mark.parametrize(
    "words",
    [
        ("events", "2026-01-21"),
        ("plan", "2026-01-21", "2026-03"),
        ("dates", "2026-01-21"),
        ("summary", "2026-01-21"),
        ("summary", "2026-01-15", "--compare", "2026-01-21"),
        ("export", "2026-01-21"),
        ("sync", "2026-01-21", "--to", "new"),
    ],
)
def test_tomorrow_is_refused(
    service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(folder)
    service.journal.clear()
    done = run(*words)
    assert (done.exit_code, REFUSED in done.stderr) == (2, True)
    assert not [*service.journal.entries()]


@pytest.mark.parametrize(
    "words",
    [
        ("dates", "-o", "days.csv"),
        ("summary", "-o", "total.csv"),
        ("export", "-o", "events.csv"),
        ("sync", "--to", "new"),
    ],
)
def test_an_end_in_the_future_is_today(
    service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(folder)
    done = run(words[0], "2026-01-16", "2026-03", *words[1:])
    first, closing, *_ = done.stderr.splitlines()
    assert first == "2026-03-31 is in the future, so the period ends on 2026-01-20."
    assert " of 2026-01-16 to 2026-01-20, " in closing
    for file in folder.glob("*.csv"):
        assert "2026-03-31" not in file.read_text()


def test_the_period_before_one_that_is_not_over(service: LocalServer) -> None:
    words = ("summary", "2026-01-16", "2026-03", "--compare", "previous", "--all-hours")
    done = run(*words, "-f", "json")
    asked = [dict(each.query) for each in service.journal.entries()][-2:]
    assert [(each["start_date"], each["end_date"]) for each in asked] == [
        ("2026-01-16", "2026-01-20"),
        ("2026-01-11", "2026-01-15"),
    ]
    assert done.exit_code == 0


def test_a_sync_keeps_a_listed_day_that_this_clock_has_not_reached(
    service: LocalServer, folder: Path
) -> None:
    behind = Invocation(clock=lambda: datetime(2026, 1, 15, 12, tzinfo=UTC))
    words = ["sync", "2026-01-15", "2026-01-31", "--to", str(folder)]
    done = CliRunner().invoke(cli, words, obj=behind)
    assert " events in 37 hours of 2026-01-15 to 2026-01-16, " in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("split", "hour", "sent"), [("auto", 13, 0), ("daily", 13, 0), ("daily", 12, 1)]
)
def test_an_hour_that_has_not_begun_is_not_asked_for(
    service: LocalServer, split: str, hour: int, sent: int
) -> None:
    service.journal.clear()
    words = ("--hour", str(hour), "--split", split, "-f", "csv")
    done = run("events", "today", *words)
    # Where nothing arrives, the day is counted: the client's own clock is months ahead.
    entries = service.journal.entries()
    pages = [entry for entry in entries if ("hour", str(hour)) in entry.query]
    assert (done.exit_code, len(pages)) == (0, sent)
