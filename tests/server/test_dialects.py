"""Dialects: each choice changes its own gap of the answers, and nothing else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

from adanalytics_server import answers
from adanalytics_server.answers import Answers
from adanalytics_server.clock import Clock
from adanalytics_server.faults.dialects import DIALECTS, DialectError, dialect_of
from adanalytics_server.local import LocalServer, Sample

API = "/api/partners/acme/ad-analytics"
DAY = {"start_date": "2026-01-15", "end_date": "2026-01-15"}
ORDER = {**DAY, "format": "csv"}
NOW = 1_769_904_000  # of the frozen clock, in seconds
SAMPLE = Sample(events_per_day=25)


@contextmanager
def speaking(dialect: str, clock: Clock, *, inline_max: int = 50_000) -> Iterator[httpx.Client]:
    with (
        LocalServer(
            sample=SAMPLE, dialect=dialect, clock=clock, rate_limit=5, export_inline_max=inline_max
        ) as server,
        httpx.Client(
            base_url=server.url + API, headers={"Authorization": f"Bearer {server.api_key}"}
        ) as http,
    ):
        yield http


def page(http: httpx.Client, number: int = 2) -> httpx.Response:
    return http.get("/events", params={**DAY, "per_page": 10, "page": number})


NUMBERS = {"page": 2, "per_page": 10, "total": 25, "total_pages": 3, "has_more": True}


@pytest.mark.parametrize(
    ("dialect", "rows_of", "rest"),
    [
        ("reference", lambda body: body.pop("events"), {"pagination": NUMBERS}),
        ("envelope-data", lambda body: body.pop("data"), {"pagination": NUMBERS}),
        ("envelope-results", lambda body: body.pop("results"), {"pagination": NUMBERS}),
        ("envelope-items,meta-object", lambda body: body.pop("items"), {"meta": NUMBERS}),
        ("meta-flat", lambda body: body.pop("events"), NUMBERS),
        ("meta-header", lambda body: body.pop("events"), {}),
        ("meta-none", lambda body: body.pop("events"), {}),
        (
            "envelope-nested",
            lambda body: body["data"].pop("events"),
            {"data": {"pagination": NUMBERS}},
        ),
    ],
)
def test_rows_and_page_numbers_are_where_the_dialect_has_them(
    clock: Clock, dialect: str, rows_of: Callable[[Any], list[Any]], rest: dict[str, Any]
) -> None:
    with speaking("reference", clock) as http:
        expected = page(http).json()["events"]
    with speaking(dialect, clock) as http:
        answer = page(http)
    body = answer.json()
    assert rows_of(body) == expected
    assert body == rest
    assert ("x-total-count" in answer.headers) == (dialect == "meta-header")


def test_a_bare_array_has_its_numbers_in_headers_or_nowhere(clock: Clock) -> None:
    with speaking("envelope-array", clock) as http:
        answer = page(http)
        assert len(answer.json()) == 10
        names = ("x-page", "x-per-page", "x-total-count", "x-total-pages")
        assert [answer.headers[name] for name in names] == ["2", "10", "25", "3"]
    with speaking("envelope-array,meta-none", clock) as http:
        answer = page(http, 4)
        assert answer.json() == []
        assert "x-total-count" not in answer.headers


@pytest.mark.parametrize(
    ("dialect", "rows_of"),
    [
        ("envelope-results", lambda body: body["results"]),
        ("envelope-nested", lambda body: body["data"]["summary"]),
        ("envelope-array", lambda body: body),
    ],
)
def test_summaries_have_their_rows_in_the_same_envelope(
    clock: Clock, dialect: str, rows_of: Callable[[Any], list[Any]]
) -> None:
    with speaking("reference", clock) as http:
        reference = http.get("/summary", params={**DAY, "group_by": "day"}).json()
    with speaking(dialect, clock) as http:
        body = http.get("/summary", params={**DAY, "group_by": "day"}).json()
    assert rows_of(body) == reference["summary"]
    if isinstance(body, dict):
        assert body["totals"] == reference["totals"]


@pytest.mark.parametrize(
    ("dialect", "url_of"),
    [
        ("link-url", lambda answer: answer.json()["url"]),
        ("link-file-url", lambda answer: answer.json()["file_url"]),
        ("link-location", lambda answer: answer.json()["location"]),
        ("link-relative", lambda answer: answer.json()["download_url"]),
        ("link-header", lambda answer: answer.headers["location"]),
    ],
)
def test_an_export_has_its_address_where_the_dialect_has_it(
    clock: Clock, dialect: str, url_of: Callable[[httpx.Response], str]
) -> None:
    with speaking(dialect, clock) as http:
        answer = http.post("/bulk-export", json=ORDER)
        url = url_of(answer)
        assert url.startswith("/exports/") == (dialect == "link-relative")
        assert ("download_url" in answer.json()) == (dialect == "link-relative")
        file = httpx.get(answer.url.join(url))
        assert (file.status_code, len(file.text.splitlines())) == (200, 26)


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ("status-upper", {"PENDING", "IN_PROGRESS", "COMPLETED"}),
        ("status-done", {"queued", "running", "done"}),
        ("status-success", {"waiting", "inProgress", "success"}),
    ],
)
def test_the_states_of_an_export_have_other_words(
    clock: Clock, dialect: str, words: set[str]
) -> None:
    with speaking(f"{dialect},rate-none", clock) as http:
        assert http.post("/bulk-export", json=ORDER).json()["status"] in words
    with speaking(dialect, clock, inline_max=0) as http:
        assert http.post("/bulk-export", json=ORDER).json()["status"] in words


def test_every_set_of_words_tells_the_states_apart() -> None:
    states = ("pending", "processing", "completed", "failed", "expired")
    for words in get_args(answers.Words):
        spoken = [answers.STATUS_WORDS[words].get(state, state) for state in states]
        assert len(set(spoken)) == len(states)


@pytest.mark.parametrize(
    ("dialect", "first", "retry_after"),
    [
        (
            "reference",
            {"ratelimit-policy": '"hour";q=5;w=3600', "ratelimit": '"hour";r=4;t=3600'},
            "3600",
        ),
        (
            "rate-delta",
            {"x-ratelimit-limit": "5", "x-ratelimit-remaining": "4", "x-ratelimit-reset": "3600"},
            "3600",
        ),
        (
            "rate-epoch,retry-date",
            {
                "x-ratelimit-limit": "5",
                "x-ratelimit-remaining": "4",
                "x-ratelimit-reset": str(NOW + 3600),
            },
            NOW + 3600,
        ),
        ("rate-none", {}, "3600"),
        ("rate-none,retry-none", {}, None),
    ],
)
def test_the_request_limit_speaks_in_its_headers(
    clock: Clock, dialect: str, first: dict[str, str], retry_after: str | int | None
) -> None:
    with speaking(dialect, clock) as http:
        answers = [http.get("/dates") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    found = {name: value for name, value in answers[0].headers.items() if "ratelimit" in name}
    assert found == first
    stated = answers[5].headers.get("retry-after")
    if isinstance(retry_after, int):
        assert parsedate_to_datetime(str(stated)).timestamp() == retry_after
    else:
        assert stated == retry_after


def test_the_headers_of_waiting_follow_too(clock: Clock) -> None:
    with speaking("retry-date", clock) as http:
        http.post(str(http.base_url.join("/_control/faults")), json={"faults": ["stuck export"]})
        answer = http.post("/bulk-export", json=ORDER)
        for waiting in (answer, httpx.get(answer.json()["download_url"])):
            assert waiting.status_code == 202
            moment = parsedate_to_datetime(waiting.headers["retry-after"])
            assert moment.timestamp() == NOW + 1


def test_a_large_per_page_is_cut_instead_of_refused(clock: Clock) -> None:
    params = {**DAY, "per_page": "10001"}
    with speaking("reference", clock) as http:
        assert http.get("/events", params=params).status_code == 400
    with speaking("per-page-cut", clock) as http:
        answer = http.get("/events", params=params)
        assert answer.json()["pagination"]["per_page"] == 10_000
        assert http.get("/events", params={**params, "per_page": "0"}).status_code == 400


def test_every_choice_changes_the_reference_to_values_that_exist() -> None:
    kinds = {
        "envelope": answers.Envelope,
        "metadata": answers.Metadata,
        "link": answers.Link,
        "words": answers.Words,
        "rate": answers.RateHeaders,
        "retry": answers.RetryAfter,
    }
    for name, choice in DIALECTS.items():
        assert choice.description
        dialect = dialect_of(name)
        assert (dialect == Answers()) == (name == "reference")
        chosen = asdict(dialect)
        for gap, kind in kinds.items():
            assert chosen[gap] in get_args(kind)


def test_choices_combine_and_refine_a_set() -> None:
    assert dialect_of("envelope-data, META-FLAT") == Answers(envelope="data", metadata="flat")
    assert dialect_of("bare,meta-header").metadata == "header"
    assert dialect_of("bare").metadata == "none"
    assert dialect_of("modern,envelope-array").metadata == "header"


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ("", "Unknown dialect ''. Known dialects: reference, modern"),
        ("envelope-data,", "Unknown dialect ''"),
        ("envelope", "Unknown dialect 'envelope'"),
        ("envelope-data,envelope-items", "'envelope-items' contradicts 'envelope-data'"),
        ("envelope-data,modern", "'modern' is a complete set: put it first"),
        ("modern,bare", "'bare' is a complete set"),
        ("envelope-array,meta-flat", "no room for page numbers"),
    ],
)
def test_what_is_no_dialect_says_why(names: str, problem: str) -> None:
    with pytest.raises(DialectError) as caught:
        dialect_of(names)
    assert problem in str(caught.value)


def test_the_reference_page_has_every_choice_with_its_description() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "test-controls.md").read_text()
    for name, choice in DIALECTS.items():
        assert f"| `{name}` | {choice.description} |" in page
