"""Small functions that nobody calls from outside: what each returns for one value."""

import unicodedata
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path

import pytest

from adanalytics_client._base.clock import SystemClock
from adanalytics_client._base.dates import add_months, moment_of
from adanalytics_client._base.escaping import legible, visible
from adanalytics_client._base.files import open_beside, put_in_place
from adanalytics_client._base.formats import suffix_of
from adanalytics_client._base.quantities import in_bytes, in_minutes
from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.spelling import fold
from adanalytics_client._base.urls import Address, BaseUrl, redact_queries, redact_url, without_user
from adanalytics_client._call.config import Bearer, Config, Login
from adanalytics_client._json.columns import Columns, count_events
from adanalytics_client._json.exact import csv_cells, json_text, utf8
from adanalytics_client._json.raw import read_page
from adanalytics_client._json.rows import kind_of, stated_error
from adanalytics_client.dataset.query.errors import unwritable
from adanalytics_client.dataset.records.layout import Hour
from adanalytics_client.dataset.records.manifest import Identity, seal, unseal
from adanalytics_client.dataset.tables.files import _bound as bound
from adanalytics_client.observers import HoursVerified

SIGNED = "https://files.example/a.csv?sig=abc"
TEXT = "no file '/a.csv?sig=abc' (see https://b.example/?page=2&key=1)."
SHOWN = "no file '/a.csv?***' (see https://b.example/?page=2&***)."
DAY = date(2026, 1, 15)
FAILED = [{"errors": [{"message": "shard down"}, "slow"], "events": []}]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (lambda: add_months(date(2026, 3, 31), -1), date(2026, 2, 28)),
        (
            lambda: str(unwritable("[Errno 28] No space left: '/tmp/a \"b\".csv'").message),
            "The answer cannot be written: [Errno 28] No space left: '/tmp/a \"b\".csv'.",
        ),
        (lambda: bound(datetime(1, 1, 1, tzinfo=UTC)), "0001-01-01T00:00:00.000Z"),
        (lambda: bound(datetime.max.replace(tzinfo=UTC), is_most=True), "9999-12-31T23:59:59.999Z"),
        (
            lambda: bound(datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC), is_most=True),
            "2026-01-01T00:00:00.001Z",
        ),
        # As Java writes milliseconds.
        (
            lambda: moment_of(Decimal("1.76848230925E12")),
            datetime(2026, 1, 15, 13, 5, 9, 250_000, UTC),
        ),
        (lambda: moment_of(Decimal("1E999999999")), None),
        (lambda: visible("\x1b[31mRED\tx\ny"), r"\x1b[31mRED\tx\ny"),
        (
            lambda: legible("\u00e9\t\U0001f469\U0001f3fd\u05d0\n"),
            "\u00e9\t\U0001f469\U0001f3fd\u05d0\n",
        ),
        (lambda: suffix_of(Path("january.CSV.gz")), (".csv", True)),
        (lambda: suffix_of(Path("january")), ("", False)),
        (lambda: in_bytes(4_812_345), "4.81 MB"),
        (lambda: in_minutes(75), "1:15"),
        (lambda: repr(Secret("aak_123")), "Secret('***')"),
        (lambda: Secret("aak_123").reveal(), "aak_123"),
        (lambda: redact_url(SIGNED), "https://files.example/a.csv?***"),
        (lambda: redact_queries(TEXT), SHOWN),
        (lambda: repr(Address(SIGNED)), "'https://files.example/a.csv?***'"),
        (lambda: f"{Address(SIGNED)}", SIGNED),
        (lambda: without_user("http://user:pass@files.example/a@b"), "http://files.example/a@b"),
        (lambda: BaseUrl.parse("https://a.example/v2/").at("/b"), "https://a.example/v2/b"),
        (lambda: BaseUrl.parse("http://a.example/b").is_at("http://A.example:80/b"), True),
        (lambda: count_events({"impressions": 3, "clicks": 1, "revenue": Decimal("0.5")}), 4),
        (lambda: Columns(["revenue", "odd"]).choose([{"odd": 1}]), ("revenue", "odd")),
        (lambda: json_text({"cost": Decimal("0E-9")}), '{"cost":0.000000000}'),
        (
            lambda: json_text([DAY, HoursVerified(1, 2, deep=False)]),
            '["2026-01-15",{"hours":1,"total":2,"deep":false}]',
        ),
        (lambda: csv_cells([None, True, Decimal("1.50"), DAY]), [None, "true", "1.50", str(DAY)]),
        (lambda: csv_cells([{"b": "2", "a": "1"}]), ['{"a":"1","b":"2"}']),
        (lambda: utf8('"\ud800"'), b'"\\ud800"'),
        (read_page(b'{"events": [{"a": 1.50}]}')["events"].array, b'[{"a": 1.50}]'),
        (lambda: {fold("hasMore"), fold("has_more"), fold("Has-More")}, {fold("HASMORE")}),
        (lambda: [kind_of(None), kind_of({})], ["null", "an object"]),
        (lambda: kind_of([{}, None]), "a list with null in it"),
        (lambda: stated_error(FAILED), "shard down; slow"),
        (lambda: stated_error([{"error": None, "errors": [], "events": []}]), ""),
        (
            lambda: Identity("acme", "", "parquet").part_name(Hour(date(2026, 3, 1), 13), None),
            "data/date=2026-03-01/hour=13/part-0.parquet",
        ),
        (lambda: unseal(seal({"rows": 3}), dict[str, int]), {"rows": 3}),
    ],
)
def test_small_functions(result: Callable[[], object], expected: object) -> None:
    assert result() == expected


def test_a_file_beside_takes_the_name(tmp_path: Path) -> None:
    beside, file = open_beside(tmp_path / "day.csv")
    with file:
        file.write(b"date")
        put_in_place(file, beside, tmp_path / "day.csv")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"date"]


def quota_name(credential: Bearer | Login) -> str:
    return Config(BaseUrl.parse("https://a.example"), credential, "acme").quota_name


def token_of(claims: object, signature: str) -> Bearer:
    payload = urlsafe_b64encode(json_text(claims).encode()).decode().rstrip("=")
    return Bearer("token", Secret(f"e30.{payload}.{signature}"))


@pytest.mark.parametrize("claim", ["sub", "user_id", "userId", "id", "email"])
def test_the_tokens_of_a_user_share_a_quota(claim: str) -> None:
    one, two, other = (
        quota_name(token_of({claim: user, "iat": at}, f"s{at}"))
        for at, user in enumerate(("Ann@a.example", "Ann@a.example", "bob@a.example"))
    )
    assert one == two != other
    assert one == quota_name(Login("ann@a.example", Secret("p")))


@pytest.mark.parametrize("claims", [[], {}, {"sub": ""}, {"sub": None}, 7])
def test_a_token_without_a_user_has_its_own_quota(claims: object) -> None:
    assert quota_name(token_of(claims, "a")) != quota_name(token_of(claims, "b"))
    for text in ("a.b", "a.%.c", "secret"):
        assert quota_name(Bearer("token", Secret(text)))
    key = token_of({"sub": "ann"}, "a").secret
    assert quota_name(Bearer("api_key", key)) != quota_name(Bearer("token", key))


def test_no_character_that_nobody_sees_is_legible() -> None:
    unseen = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    signs = {chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in unseen}
    spans = [(0xFE00, 0xFE0F), (0xE0000, 0xE0FFF), (0x180B, 0x180F), (0x2060, 0x206F)]
    signs |= {chr(code) for first, last in spans for code in range(first, last + 1)}
    signs |= {*"\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"} - {*"\n\t"}
    assert {sign for sign in signs if sign in legible(sign)} <= {"\n", "\t"}


def test_a_wait_ends_though_a_test_stops_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As freezegun does, also for the monotonic clock."""
    monkeypatch.setattr("time.monotonic", lambda: 1000.0)
    assert list(islice(SystemClock().sleeping(1003.0), 2)) == [3.0]
