"""Rules that are tables: headers, dates, addresses, signals, export states."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from adanalytics_client._dates import to_day, to_range
from adanalytics_client._effects import Head
from adanalytics_client._export import ExportPhase
from adanalytics_client._export_answer import read_status
from adanalytics_client._retry import RetryPolicy, rate_window, retry_after
from adanalytics_client._rows import find_rows
from adanalytics_client._secret import Secret
from adanalytics_client._signals import Signals, signals
from adanalytics_client._url import origin_of, redact_url
from adanalytics_client.errors import ConfigurationError
from adanalytics_client.models import Event

NOW = 1_800_000_000.0
YEAR = 366 * 86_400.0
MOMENT = datetime(2026, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:01:00 GMT"}, 60.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "9" * 400}, YEAR),
        ({"retry-after": "99999999999"}, YEAR),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, YEAR),
        ({"retry-after": "2, 2"}, 2.0),
        ({"retry-after": "soon, 3,40"}, 40.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:01:00 GMT, 7"}, 60.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT, Friday, 15-Jan-27 08:01:00 GMT"}, 60.0),
        ({"retry-after": ", ,", "ratelimit": '"hour";r=0;t=30'}, 30.0),
        ({"retry-after": "Fri, 99 Jan 2027 08:01:00 GMT"}, None),
        ({"retry-after": "\u0663"}, None),
        ({"ratelimit": '"hour";r=0;t=30'}, 30.0),
        ({"ratelimit": "junk"}, None),
        ({"ratelimit": '"a,b";r=5;t=1, "hour";r=0;t=30, "day";r=9;t=7'}, 30.0),
        ({"x-ratelimit-reset": "45"}, 45.0),
        ({"x-ratelimit-reset": "1800000090"}, 90.0),
        ({"x-ratelimit-reset": "1700000000"}, 0.0),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(Head(429, headers), NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "left"),
    [
        ({"ratelimit": '"hour";r=997;t=1800'}, (997, 1800.0)),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "45"}, (3, 45.0)),
        ({"x-ratelimit-remaining": "3", "ratelimit-reset": "1800000090"}, (3, 90.0)),
        ({"x-ratelimit-remaining": "3"}, None),
        ({"x-ratelimit-remaining": "many", "x-ratelimit-reset": "45"}, None),
        ({}, None),
    ],
)
def test_how_many_are_left(headers: dict[str, str], left: tuple[int, float] | None) -> None:
    assert rate_window(Head(200, headers), NOW) == left


def test_waits_grow_to_a_bound_and_are_never_earlier_than_asked() -> None:
    policy = RetryPolicy(first_wait=1, longest_wait=10)
    assert [policy.wait(each, None, lambda: 1.0) for each in range(6)] == [1, 2, 4, 8, 10, 10]
    assert policy.wait(5000, None, lambda: 0.5) == 5.0
    assert policy.wait(0, 60.0, lambda: 1.0) == 60.0
    for wrong in ({"attempts": 0}, {"first_wait": -1}, {"budget": 0}):
        with pytest.raises(ConfigurationError):
            RetryPolicy(**wrong)


@pytest.mark.parametrize(
    "wrong",
    ["2026-1-5", "20260105", "2026-W01-1", "\u0662026-01-05", "today", 5, None, MOMENT],
)
def test_only_plain_days_pass(wrong: Any) -> None:
    with pytest.raises(ConfigurationError):
        to_day(wrong, "start")


def test_a_range_defaults_to_one_day() -> None:
    day = date(2026, 1, 5)
    assert to_range("2026-01-05", None) == to_range(day, day) == (day, day)


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


@pytest.mark.parametrize(
    ("beside", "headers", "expected"),
    [
        ({}, {}, Signals()),
        ({"hasMore": "false"}, {}, Signals(more=False)),
        ({"is_last": True}, {}, Signals(more=False)),
        ({"links": {"next": None, "last": "/p/9"}}, {}, Signals(ends=True)),
        ({"links": {"next": {"href": "/p/2"}}}, {}, Signals(more=True)),
        ({"page": {"number": 0, "totalPages": 3}}, {}, Signals(pages=3)),
        ({"last_page": 4}, {}, Signals(pages=4)),
        ({"total": {"value": 10_000}}, {}, Signals(unread=True)),
        ({"total": {"value": 10_000, "relation": "gte"}}, {}, Signals(unread=True)),
        ({"total": {"value": 12, "relation": "eq"}}, {}, Signals(total=12)),
        ({"total": 7}, {"x-total-count": "9"}, Signals(total=7)),
        ({"total": 0}, {"x-total-count": "9"}, Signals(total=9)),
        ({"total": -1, "pages": 0}, {}, Signals()),
        ({"_links": {"next": {"href": None}}}, {}, Signals(ends=True)),
        ({}, {"x-has-more": "false"}, Signals(more=False)),
        ({}, {"x-next-page": ""}, Signals(ends=True)),
        ({}, {"x-next-page": "2"}, Signals(more=True)),
        ({}, {"x-pagination-total-results": "8"}, Signals(total=8)),
        ({}, {"total-count": "8", "x-page": "1", "x-more-info": "y"}, Signals(total=8)),
        ({"count": 1}, {}, Signals()),
        ({"count": 5}, {}, Signals(total=5)),
        ({"count": 5, "next": "/p"}, {}, Signals(more=True)),
        ({}, {"x-total-pages": "2"}, Signals(pages=2)),
        ({}, {"link": '</p?page=2>; rel="next", </p?page=9>; rel="last"'}, Signals(more=True)),
        ({}, {"link": '</s.css>; rel="preload"'}, Signals()),
    ],
)
def test_what_an_answer_says_about_pages(
    beside: dict[str, Any], headers: dict[str, str], expected: Signals
) -> None:
    assert signals(find_rows({"events": [{"a": 1}], **beside}), headers) == expected


@pytest.mark.parametrize(
    ("content", "status", "phase", "files", "poll"),
    [
        ({"status": "COMPLETED", "url": "/f"}, 200, ExportPhase.DONE, ["/f"], None),
        ({"status": "in-progress", "url": "/s"}, 200, ExportPhase.WORKING, [], "/s"),
        ({"status": "pending", "download_url": "/f"}, 202, ExportPhase.WORKING, ["/f"], None),
        ({"state": "Fatal"}, 200, ExportPhase.FAILED, [], None),
        ({"exportStatus": "expired"}, 200, ExportPhase.EXPIRED, [], None),
        ({"status": "http://h.example/s"}, 202, ExportPhase.WORKING, [], "http://h.example/s"),
        ({"url": "/f"}, 201, ExportPhase.DONE, ["/f"], None),
        ({"url": "/s"}, 202, ExportPhase.WORKING, [], "/s"),
        ({"job": {"status": "queued", "status_link": "/s"}}, 200, ExportPhase.WORKING, [], "/s"),
        (None, 202, ExportPhase.WORKING, [], None),
    ],
)
def test_what_an_answer_says_about_an_export(
    content: Any, status: int, phase: ExportPhase, files: list[str], poll: str | None
) -> None:
    base = "http://h.example/api/x"
    found = read_status(content, Head(status, {}), url=base, retry_after=None)
    assert found.phase is phase
    assert [each.url for each in found.files] == ["http://h.example" + path for path in files]
    assert found.poll_url == (f"http://h.example{poll}" if poll and poll.startswith("/") else poll)
    assert "http" not in repr(found)


def test_money_is_written_plainly_unless_that_is_absurdly_long() -> None:
    plain = Event.model_validate({"revenue": "0E-9", "cost": "1E999999999"})
    written = plain.model_dump_json(include={"revenue", "cost"})
    assert written == '{"revenue":"0.000000000","cost":"1E+999999999"}'


def test_a_secret_has_no_readable_form() -> None:
    import pickle

    secret = Secret("hidden")
    assert "hidden" not in f"{secret} {secret!r}"
    assert secret.redact("a hidden thing") == "a *** thing"
    assert Secret("th").redact("a hidden thing") == "a hidden thing"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(secret)
