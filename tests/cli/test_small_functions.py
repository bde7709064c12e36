"""Small functions of the command line: what each returns for one value."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from adanalytics_cli.console.redaction import redact
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.freshness import last_day, last_hour
from adanalytics_cli.core.prose import wrapped
from adanalytics_cli.output import calendar_chart, summary_chart
from adanalytics_cli.output.comparison import Pair
from adanalytics_cli.output.row_output import csv_line

NOW = datetime(2026, 1, 20, 14, 20, tzinfo=UTC)
JANUARY = calendar_chart.Coverage({date(2026, 1, 2): 24}, date(2026, 1, 1), date(2026, 1, 3))
BARS = [summary_chart.Bar("a", 2, "2"), summary_chart.Bar("b", 1, "1")]
LONG = "The login expired. Sign in: adanalytics login --profile night"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            lambda: redact("sent Bearer abc.def to http://me:pw@host/", ["pw"]),
            "sent Bearer [hidden] to http://[hidden]@host/",
        ),
        (lambda: str(CommandError("no room", remedy="Free some space.")), "no room"),
        (
            lambda: last_hour(NOW.replace(hour=13, minute=0), NOW),
            "Last hour with data: 13:00 UTC, 1 h ago.",
        ),
        (lambda: last_day(date(2026, 1, 16), NOW), "Last day with data: 2026-01-16, 4 days ago."),
        (
            lambda: wrapped(LONG, 30),
            "The login expired. Sign in:\n  adanalytics login \\\n    --profile night",
        ),
        (
            lambda: calendar_chart.draw_calendar(JANUARY, calendar_chart.LETTERS, width=40)[1],
            "2026-01 .#.",
        ),
        (lambda: Pair({}, {"a": 8}, {"a": 7}).values("a")["percent"], Decimal("-12.50")),
        (
            lambda: csv_line([None, True, Decimal("0.000000010"), "a, b"]),
            b',true,0.000000010,"a, b"\n',
        ),
        (
            lambda: summary_chart.draw_bars(BARS, summary_chart.LETTERS, width=8),
            ["a #### 2", "b ##   1"],
        ),
    ],
)
def test_small_functions(result: Callable[[], object], expected: object) -> None:
    found = result()
    assert (found.rstrip() if isinstance(found, str) else found) == expected
