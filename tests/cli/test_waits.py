"""Prices before anything is spent, and a quota that is used up: which commands wait."""

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.client.frozen_time import FROZEN, HOUR, Worker, most_in_an_hour, run_all
from tests.server_answers import operations

from adanalytics_client import Client, QuotaExceeded, QuotaPolicy, QuotaState, RateLimited
from adanalytics_client._base.clock import SystemClock
from adanalytics_client.pricing import Estimate, Price, prices
from adanalytics_server.clock import Clock
from adanalytics_server.faults import Entry
from adanalytics_server.local import LocalServer, Sample

# With one request at a time none is still on its way to the server when the run has failed.
YEAR = ("events", "2025-01-01", "2025-12-31", "--split", "hourly", "--concurrency", "1")
NEEDS = (
    "This pull needs at least 8,760 requests, but the quota has 1,000 left. With the waits it "
    "ends at 2026-01-20 20:00 UTC at the earliest."
)


@pytest.fixture
def used_up(service: LocalServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """The service, whose quota is used up for a quarter of an hour; to wait for it is an error."""
    service.faults.add("429 retry-after 900 always")
    with (
        Client.from_env(quota=QuotaPolicy(on_limit="raise")) as client,
        pytest.raises((RateLimited, QuotaExceeded)),
    ):
        client.dates()
    service.faults.clear()
    service.journal.clear()

    def sleeping(_clock: SystemClock, until: float) -> tuple[float, ...]:
        raise AssertionError(f"waits until {until}")

    monkeypatch.setattr(SystemClock, "sleeping", sleeping)
    yield service
    service.faults.clear()


def test_status_neither_waits_nor_sends(used_up: LocalServer) -> None:
    result = run("status")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "quota left    0 requests  (counted on this machine; resuming at " in result.stdout
    assert not list(used_up.journal.entries())


def test_doctor_warns_of_the_quota_and_sends_nothing(used_up: LocalServer) -> None:
    result = run("doctor")
    assert result.exit_code == 0
    assert "warn  quota      used up until " in result.stdout
    assert "service" not in result.stdout.partition("quota  ")[0].splitlines()[-1]
    assert not list(used_up.journal.entries())


def test_doctor_takes_a_limit_of_the_service_for_no_failure(limited: LocalServer) -> None:
    result = run("doctor")
    lines = result.stdout.splitlines()
    (quota,) = [at for at, line in enumerate(lines) if line.startswith("warn  quota ")]
    assert re.fullmatch(r"warn  quota      used up until \d\d:\d\d UTC", lines[quota])
    assert lines[quota + 1].strip() == "The login was not checked. Try again then."
    assert f"ok    service    {limited.url} answers" in lines
    assert (result.exit_code, "login  " in result.stdout) == (0, False)


@pytest.mark.parametrize("words", [(), ("-q",)])
def test_a_pull_beyond_the_quota_that_may_wait_says_first_when_it_will_end(
    service: LocalServer, words: tuple[str, ...]
) -> None:
    service.faults.add("401 on events")
    refused = run(*YEAR, "--max-wait", "3600", *words)
    service.faults.clear()
    assert refused.exit_code == 4
    assert refused.stderr.startswith("Error: " if words else f"{NEEDS}\nError: ")


def test_a_pull_beyond_the_quota_sends_nothing_and_says_how_to_go_on(service: LocalServer) -> None:
    service.journal.clear()
    refused = run(*YEAR)
    assert refused.exit_code == 5
    assert refused.stderr == (
        f"Error: {NEEDS}\nTo start it, add --max-wait 7200. Fewer requests: --split auto. "
        "To pull in parts that can be resumed: adanalytics sync 2025-01-01 2025-12-31 --to DIR\n"
    )
    assert not list(service.journal.entries())


@pytest.mark.parametrize(("answer", "code"), [("y\n", 4), ("\n", 5)])
def test_a_terminal_is_asked(
    service: LocalServer, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr("adanalytics_cli.account.quota.can_ask", lambda: True)
    service.faults.add("401 on events")
    service.journal.clear()
    result = run(*YEAR, stdin=answer)
    service.faults.clear()
    assert result.exit_code == code
    assert result.stderr.startswith(f"{NEEDS}\nStart it? [y/N]:")
    assert bool(service.journal.entries()) == (code == 4)


def test_an_auto_pull_is_checked_again_when_its_first_page_shows_the_others(
    service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client, "quota", QuotaState(1_000, 15, None))
    service.journal.clear()
    words = ("events", "2026-01-15", "2026-01-16", "--per-page", "200")
    refused = run(*words)
    assert (refused.exit_code, refused.stdout) == (5, "")
    assert "needs at least 19 requests, but the quota has 15 left." in refused.stderr
    assert "--split" not in refused.stderr
    assert len(service.journal.entries()) == 1
    assert run(*words, "--max-wait", "3600").exit_code == 0
    assert run(*words, "--limit", "400").exit_code == 0


@pytest.mark.usefixtures("service")
def test_a_pull_beyond_the_quota_that_may_not_wait_sends_nothing() -> None:
    refused = run(*YEAR, "--max-wait", "600")
    assert refused.exit_code == 5
    assert refused.stderr == (
        "Error: This pull needs at least 8,760 requests, but the quota has 1,000 left. A wait for "
        "more takes up to an hour; the longest wait allowed is 600 s.\n"
        "Fewer requests: --split auto. To pull in parts that can be resumed: "
        "adanalytics sync 2025-01-01 2025-12-31 --to DIR\n"
    )
    with Client.from_env() as client:
        assert client.quota.remaining == 1_000


def test_a_used_up_quota_is_a_part_of_the_announced_wait(
    service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    resumes_at = datetime(2026, 1, 20, 12, 20, tzinfo=UTC)
    monkeypatch.setattr(Client, "quota", QuotaState(1_000, 0, resumes_at))
    service.faults.add("401 on events")
    refused = run(*YEAR, "--max-wait", "3600")
    service.faults.clear()
    assert "ends at 2026-01-20 20:20 UTC at the earliest." in refused.stderr


def test_a_sync_beyond_the_quota_says_first_when_it_will_end(
    service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuotaState, "wait_for", lambda _self, _requests: 3600.0)
    words = ("sync", "2026-01-15", "--to", str(folder), "--max-requests", "3")
    assert "With the waits it ends at 2026-01-20 13:00 UTC at the earliest.\n" in run(*words).stderr


def test_plan_fails_at_once(used_up: LocalServer) -> None:
    result = run("plan", "2026-01-15")
    assert result.exit_code == 5
    assert "slow down; resuming at" in result.stderr
    assert not list(used_up.journal.entries())


@pytest.mark.parametrize(
    "words",
    [
        "dates",
        "summary 2026-01",
        "events 2026-01-15",
        "export 2026-01-15 -o file.csv",
        "sync 2026-01-15 --to events",
        "login --api-key-stdin",
    ],
)
def test_a_longer_wait_than_allowed_fails_before_it_begins(
    used_up: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(folder)
    result = run("--max-wait", "0", *words.split(), stdin=used_up.api_key)
    assert result.exit_code == 5
    assert "slow down; resuming at " in result.stderr
    assert "(in 15 min)" in result.stderr
    assert "This pull needs" not in result.stderr
    assert not list(used_up.journal.entries())


def test_completion_answers(used_up: LocalServer) -> None:
    assert run("completion", "bash").exit_code == 0
    assert not list(used_up.journal.entries())


@pytest.fixture
def limited(service: LocalServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """The service, which asks once for a pause of 900 s; the clock passes it at once."""
    skipped = 0.0
    time, steady = SystemClock.time, SystemClock.monotonic

    def sleeping(clock: SystemClock, until: float) -> tuple[float, ...]:
        nonlocal skipped
        skipped += until - clock.monotonic()
        return ()

    monkeypatch.setattr(SystemClock, "sleeping", sleeping)
    monkeypatch.setattr(SystemClock, "time", lambda clock: time(clock) + skipped)
    monkeypatch.setattr(SystemClock, "monotonic", lambda clock: steady(clock) + skipped)
    service.faults.add("429 retry-after 900 once")
    yield service
    service.faults.clear()


def test_a_long_wait_is_one_line_without_a_terminal(limited: LocalServer) -> None:
    result = run("dates")
    assert (result.exit_code, result.stdout) == (0, "date\n2026-01-15\n2026-01-16\n")
    (line,) = result.stderr.splitlines()
    assert line.startswith("The service asked to slow down; resuming at ")
    assert line.endswith(" UTC (in 15 min)")


def test_quiet_silences_it(limited: LocalServer) -> None:
    result = run("-q", "dates")
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_step_says_it_once(limited: LocalServer) -> None:
    assert run("-v", "dates").stderr.count("resuming at ") == 1


@pytest.mark.parametrize(
    ("words", "profile", "code"),
    [
        ("dates --max-wait 890", "", 5),
        ("--max-wait 910 dates", "", 0),
        ("dates", "max_wait = 890", 5),
        ("dates --max-wait 910", "max_wait = 0", 0),
        ("dates --max-wait 0", "max_wait = 910", 5),
        ("dates", "rate_limit = '0'", 2),
        ("dates", "rate_limit = 1.5", 2),
        ("dates --rate-limit -1", "", 2),
        ("dates", "max_wait = '0'", 2),
        ("dates", "max_wait = true", 2),
    ],
)
def test_the_option_wins_over_the_profile(
    limited: LocalServer, tmp_path: Path, words: str, profile: str, code: int
) -> None:
    settings = tmp_path / "config" / "adanalytics" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[profile.default]\n{profile}\n")
    assert run(*words.split()).exit_code == code


@pytest.mark.parametrize(
    ("words", "profile", "code"),
    [
        ("--rate-limit 1", "rate_limit = 0", 5),
        ("", "rate_limit = 1", 5),
        ("--rate-limit 2", "rate_limit = 1", 0),
        ("--rate-limit 0", "rate_limit = 1", 0),
    ],
)
def test_the_limit_of_the_key_is_an_option_and_a_setting(
    service: LocalServer, tmp_path: Path, words: str, profile: str, code: int
) -> None:
    settings = tmp_path / "config" / "adanalytics" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[profile.default]\n{profile}\n")
    line = ["dates", "--max-wait", "0", *words.split()]
    assert (run(*line).exit_code, run(*line).exit_code) == (0, code)


LIMIT = 200
# 5 days without events, asked for by the hour: one request each.
HOURS = 5 * 24
PROGRAM = (
    FROZEN
    + """
from adanalytics_client._base.clock import SystemClock
told = Frozen()
for name in ("time", "monotonic", "sleeping", "running"):
    setattr(SystemClock, name, lambda _self, *given, ask=getattr(told, name): ask(*given))
told.begin()
from adanalytics_cli.__main__ import main
main()
"""
)


def test_two_runs_never_send_more_than_the_limit_in_any_hour(tmp_path: Path) -> None:
    clock = Clock()
    clock.freeze(datetime(2027, 1, 15, 8, tzinfo=UTC))
    with LocalServer(clock=clock, rate_limit=LIMIT) as server:
        settings = {
            **os.environ,
            "ADANALYTICS_BASE_URL": server.url,
            "ADANALYTICS_API_KEY": server.api_key,
            "ADANALYTICS_PARTNER": "acme",
        }
        workers = []
        for name in ("one.csv", "two.csv"):
            words = ["events", "2026-03-01", "2026-03-05", "--split", "hourly", "-q"]
            words += ["--rate-limit", str(LIMIT), "--max-wait", "7200"]
            words += ["--concurrency", "1", "-o", str(tmp_path / name)]
            workers.append(Worker.start([sys.executable, "-c", PROGRAM, *words], settings))
        entries: list[Entry] = []

        def note() -> None:
            """The journal holds no more than the requests of an hour."""
            entries.extend(server.journal.entries())
            server.journal.clear()

        assert run_all(workers, clock, before_jump=note) == [0, 0]
    # Each run also asks for the count of its file, and for `dates`, because nothing arrived.
    assert [each.status for each in entries] == [200] * 2 * (HOURS + 2)
    moments = [each.at for each in entries]
    assert moments[-1] - moments[0] >= HOUR
    assert most_in_an_hour(moments) <= LIMIT


def test_a_record(service: LocalServer) -> None:
    service.journal.clear()
    result = run("plan", "2025-12-20", "2026-01-19", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert operations(service) == ["summary"]
    record = json.loads(result.stdout)
    ways = {price["split"] or price["via"]: price for price in record["prices"]}
    assert [*ways] == ["hourly", "auto", "export"]
    assert (ways["hourly"]["requests"], ways["auto"]["requests"]) == (744, 1)
    assert (record["start"], record["end"]) == ("2025-12-20", "2026-01-19")
    assert [price["via"] for price in record["prices"]] == ["pages", "pages", "export"]
    assert record["recommended"] == ways["auto"]
    assert record["why"] == "1 request instead of 744 by the hour or 3 by an export"
    assert (record["spent_requests"], record["days"]) == (1, 2)
    assert 3_500 < record["events"] < 4_000
    assert ways["auto"]["bytes"] == record["events"] * 637
    assert ways["hourly"]["seconds"] > 60
    # The limit of the service is not known, so no limit is stated.
    assert record["quota"] == {"remaining": 999}
    service.journal.clear()
    words = ways["auto"]["command"].removesuffix(" -o events.jsonl.gz").split()[1:]
    assert run(*words).stdout.count("\n") == 4_000
    # A pipe gets a file's check: its count, and `dates`, as the last days have no events.
    assert operations(service) == ["events"] * ways["auto"]["requests"] + ["events", "dates"]


def test_a_table_for_people(service: LocalServer) -> None:
    result = run("plan", "2026-01-15", "2026-01-16")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["via", "split", "requests", "size", "time", "waiting"]
    assert [line.split()[:3] for line in lines[2:5]] == [
        ["pages", "hourly", "48"],
        ["pages", "auto", "1"],
        ["export", "-", "3"],
    ]
    assert "This estimate cost 1 request; " in result.stdout
    advice = "Recommended: --split auto, 1 request instead of 48 by the hour or 3 by an"
    assert advice in result.stdout
    assert lines[-1].startswith("  adanalytics events 2026-01-15 2026-01-16 --split auto -o ")


def test_one_day_is_not_called_days(service: LocalServer) -> None:
    assert " events by type on 1 day, without" in run("plan", "2026-01-15").stdout


def test_a_period_without_data(service: LocalServer) -> None:
    service.journal.clear()
    result = run("plan", "2025-01")
    assert "No day of the period has data." in result.stdout
    assert "Recommended" not in result.stdout
    assert json.loads(run("plan", "2025-01", "--json").stdout)["recommended"] is None
    service.journal.clear()
    assert run("plan", "2025-01").exit_code == 0
    assert operations(service) in (["summary"], ["summary", "dates"])


@pytest.fixture
def without_summary(service: LocalServer) -> Iterator[LocalServer]:
    service.faults.add("404 always on summary")
    yield service
    service.faults.clear()


def test_without_a_summary_the_dates_are_asked(without_summary: LocalServer) -> None:
    without_summary.journal.clear()
    result = run("plan", "2026-01")
    assert operations(without_summary) == ["summary", "dates"]
    assert "This estimate cost 2 requests; " in result.stdout
    assert "unknown; data on 2 days" in result.stdout
    assert "Recommended: --split auto, the number of events is unknown" in result.stdout


def slow_prices(estimate: Estimate, quota: QuotaState) -> list[Price]:
    waits = 20 * 86_400.0
    return [
        replace(price, size=4_000_000_000, seconds=waits, waits=waits)
        for price in prices(estimate, quota)
    ]


def test_pages_that_would_wait_are_weighed_against_an_export(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sample = Sample(start=date(2025, 11, 1), days=61, events_per_day=1)
    with LocalServer(sample=sample, rate_limit=0) as server:
        monkeypatch.setenv("ADANALYTICS_BASE_URL", server.url)
        monkeypatch.setenv("ADANALYTICS_API_KEY", server.api_key)
        monkeypatch.setenv("ADANALYTICS_PARTNER", server.partner)
        record = json.loads(run("plan", "2025-11", "2025-12", "--json").stdout)
        monkeypatch.setattr("adanalytics_cli.output.plan_output.prices", slow_prices)
        shown = run("plan", "2025-11", "2025-12").stdout
    assert "  20 days" in shown
    assert "It takes 20 days of quota, 4.00 GB.\n" in shown
    hourly = record["prices"][0]
    assert (hourly["requests"], hourly["waits_seconds"]) == (61 * 24, 3600)
    assert record["recommended"]["split"] == "auto"
