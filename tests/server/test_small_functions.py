"""Small functions of the server: what each returns for one value."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from adanalytics_server.accounts.auth import SignIns
from adanalytics_server.accounts.credentials import hide_credentials
from adanalytics_server.accounts.sessions import Sessions
from adanalytics_server.clock import rfc3339
from adanalytics_server.loading.rows import LoadError
from adanalytics_server.loading.values import Number, parse_timestamp, text_of
from adanalytics_server.serving.middleware import is_own_host
from adanalytics_server.storage.chunks import some_rows, split_rows
from adanalytics_server.storage.money import text_from_nanos
from adanalytics_server.web.coverage import level_of
from adanalytics_server.web.drawings import round_up
from adanalytics_server.web.format import (
    amount,
    compact,
    duration,
    exact_amount,
    hour_list,
    instant,
)

A, B, C = b'{"event_id":"a"}', b'{"event_id":"b"}', b'{"event_id":"c"}'


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (lambda: hide_credentials("/dates/aak_0a1b-2c/x", mark="..."), "/dates/.../x"),
        (lambda: rfc3339(1_700_000_000_123), "2023-11-14T22:13:20.123Z"),
        (
            lambda: str(LoadError(Path("day.csv"), "it is wrong", 7, "country")),
            "day.csv:7: country: it is wrong; nothing was loaded",
        ),
        (
            lambda: [text_of(value) for value in (1, True, None, "a", Number("1.50"))],
            ["1", "true", "", "a", "1.50"],
        ),
        (lambda: parse_timestamp("2026-01-15 01:00:00.123999+01:00"), (1_768_435_200_123, True)),
        (
            lambda: [is_own_host(each) for each in ("localhost:8000", "127.0.0.1", "[::1]:80")],
            [True, True, True],
        ),
        (lambda: is_own_host("evil.example"), False),
        (lambda: split_rows(A + b"," + B), [A, B]),
        (lambda: some_rows(A + b"," + B + b"," + C, 1, 1), B),
        (lambda: text_from_nanos(-2_500_000), "-0.002500000"),
        (lambda: [level_of(events, 100) for events in (0, 1, 20, 21, 100)], [0, 1, 1, 2, 5]),
        (lambda: [round_up(each) for each in (0, 1, 3, 17, 21, 4001)], [0, 2, 4, 20, 24, 5000]),
        (lambda: [amount("1234.565000000"), amount("0.004320000")], ["1,234.56", "0.0043"]),
        (lambda: amount("0.000000000"), "0.00"),
        (lambda: exact_amount("1234.500000000"), "1,234.500000000"),
        (lambda: [compact(Decimal(each)) for each in (12_000, -2_500_000)], ["12k", "-2.5M"]),
        (lambda: compact(Decimal("0.25")), "0.25"),
        (lambda: instant(1_700_000_000_123), "2023-11-14 22:13 UTC"),
        (lambda: [duration(each) for each in (45, 61, 3600)], ["45 s", "2 min", "60 min"]),
        (lambda: hour_list([0, 3, 4, 5, 17]), "00, 03 to 05, 17"),
    ],
)
def test_small_functions(result: Callable[[], object], expected: object) -> None:
    assert result() == expected


@pytest.mark.parametrize("kind", [SignIns, Sessions])
def test_a_part_that_has_a_state_is_equal_only_to_itself(kind: Callable[..., object]) -> None:
    one, other = kind(None, None), kind(None, None)
    assert len({one, other}) == 2
    # No line of a log shows the state.
    assert repr(one).endswith(f".{kind.__name__} object at {id(one):#x}>")
