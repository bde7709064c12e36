"""Whatever a service sends, the command line shows it or names it, and never calls it a bug."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.client.stand_in import Asked, Say, StandIn

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.main import cli

DAY = "2026-01-15"
ROW = {"date": DAY, "campaign_id": 7, "campaign_name": "n", "clicks": 1, "revenue": "1.5"}
ANCIENT = "0001-01-01"
ODD: list[Any] = [
    *(None, True, -1, 1.5, 10**39, 20260115, [], [1], {}, {"a": 1}, [[[[1]]]]),
    *("", "(other)", "20260115", "2026-13-45", ANCIENT, "9" * 39, "1e400", "NaN", "infinity"),
    *("\ud800", "\u202e\0", "x" * 50_000),
]
COMMANDS = [
    ("-g", "day", "-f", "table"),
    ("-g", "day", "-f", "csv"),
    ("-g", "day", "-f", "json"),
    ("-g", "day", "--chart"),
    ("-g", "day", "--compare", "previous"),
    ("-g", "campaign", "-f", "table"),
    ("-g", "campaign", "--compare", "previous"),
    ("-g", "day", "-o", "x.xlsx"),
]


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("ADANALYTICS_API_KEY", "secret-key")
    monkeypatch.setenv("ADANALYTICS_PARTNER", "acme")


def _run(stand_in: StandIn, *words: str) -> str:
    noon = datetime(2026, 1, 20, 12, tzinfo=UTC)
    words = ("--base-url", stand_in.url, *words)
    result = CliRunner().invoke(cli, words, obj=Invocation(clock=lambda: noon))
    assert "This is a bug" not in result.stderr, (words, result.stderr)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.stdout


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("name", ["date", "campaign_id", "revenue"])
def test_odd_fields_of_a_summary(stand_in: StandIn, name: str, words: tuple[str, ...]) -> None:
    for value in ODD:
        stand_in.says(Say({"data": [{**ROW, name: value}, ROW], "meta": {"total": 2}}))
        _run(stand_in, "summary", DAY, *words)


@pytest.mark.parametrize("words", [("dates",), ("dates", "--chart"), ("summary", DAY), ("doctor",)])
def test_odd_bodies(stand_in: StandIn, words: tuple[str, ...]) -> None:
    for at, value in enumerate(ODD):
        # Drawing all months since then takes a second.
        if value == ANCIENT and "--chart" in words:
            continue
        bodies = value, [value], {"dates": value}, {"dates": [value]}, {"data": value}
        for body in bodies[at % 2 :: 2]:
            stand_in.says(Say(body))
            _run(stand_in, *words, "--max-wait", "0")


def test_a_row_of_no_day_is_compared_too(stand_in: StandIn) -> None:
    other = {"date": "(other)", "clicks": 5}

    def script(asked: Asked) -> Say:
        day = asked.query["start_date"]
        rows = [{**ROW, "date": day}, {**other, "clicks": 9 if day == DAY else 5}]
        return Say({"data": rows, "meta": {"total": 2}})

    stand_in.script = script
    words = ("summary", DAY, "-g", "day", "--compare", "previous", "--all-hours", "-f", "csv")
    assert "(other)" in _run(stand_in, *words)
