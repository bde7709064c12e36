"""Dialects of shapes: each choice changes its own gap of the answers, and nothing else."""

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.speaking import DAY, ORDER, speaking

from adanalytics_server.clock import Clock
from adanalytics_server.dialect import HEADER, Dialect
from adanalytics_server.faults.dialects import DIALECTS, DialectError, dialect_of

NOW = 1_769_904_000  # of the frozen clock, in seconds


def page(http: httpx.Client, number: int = 2) -> httpx.Response:
    return http.get("/events", params={**DAY, "per_page": 10, "page": number})


@pytest.fixture(scope="module")
def reference() -> tuple[list[Any], Any]:
    """The rows of the second page, and the summary by day, without a dialect."""
    with speaking("reference", Clock()) as http:
        summary = http.get("/summary", params={**DAY, "group_by": "day"})
        return page(http).json()["data"], summary.json()


META = {"total": 25, "page": 2, "per_page": 10}
NUMBERS = {**META, "total_pages": 3, "has_more": True}


@pytest.mark.parametrize(
    ("dialect", "rows_of", "rest"),
    [
        ("reference", lambda body: body.pop("data"), {"meta": META}),
        ("hints", lambda body: body.pop("events"), {"pagination": NUMBERS}),
        ("envelope-events", lambda body: body.pop("events"), {"meta": META}),
        ("envelope-results", lambda body: body.pop("results"), {"meta": META}),
        ("envelope-items,meta-object", lambda body: body.pop("items"), {"meta": NUMBERS}),
        ("meta-pagination", lambda body: body.pop("data"), {"pagination": NUMBERS}),
        ("meta-flat", lambda body: body.pop("data"), NUMBERS),
        ("meta-has-more", lambda body: body.pop("data"), {"page": 2, "has_more": True}),
        ("meta-pages", lambda body: body.pop("data"), {"page": 2, "total_pages": 3}),
        ("meta-next", lambda body: body.pop("data"), {"next_page": 3}),
        ("meta-header", lambda body: body.pop("data"), {}),
        ("meta-none", lambda body: body.pop("data"), {}),
        ("envelope-nested", lambda body: body["data"].pop("events"), {"data": {"meta": META}}),
    ],
)
def test_rows_and_page_numbers_are_where_the_dialect_has_them(
    clock: Clock,
    reference: tuple[list[Any], Any],
    dialect: str,
    rows_of: Callable[[Any], list[Any]],
    rest: dict[str, Any],
) -> None:
    with speaking(dialect, clock) as http:
        answer = page(http)
    body = answer.json()
    assert rows_of(body) == reference[0]
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
    ("dialect", "rows_of", "facts_of"),
    [
        ("reference", lambda body: body["data"], lambda body: body["meta"]),
        ("hints", lambda body: body["summary"], lambda body: body),
        ("envelope-results", lambda body: body["results"], lambda body: body["meta"]),
        ("classic", lambda body: body["results"], lambda body: body),
        (
            "envelope-nested",
            lambda body: body["data"]["summary"],
            lambda body: body["data"]["meta"],
        ),
        ("envelope-array", lambda body: body, None),
        ("summary-object", lambda body: [body["data"]], lambda body: body["meta"]),
    ],
)
def test_summaries_have_their_rows_in_the_same_envelope(
    clock: Clock,
    reference: tuple[list[Any], Any],
    dialect: str,
    rows_of: Callable[[Any], list[Any]],
    facts_of: Callable[[Any], Any] | None,
) -> None:
    with speaking(dialect, clock) as http:
        body = http.get("/summary", params={**DAY, "group_by": "day"}).json()
    _, summary = reference
    assert rows_of(body) == summary["data"]
    if facts_of is not None:
        names = ("group_by", "start_date", "end_date", "currency", "timezone", "totals")
        assert [facts_of(body)[name] for name in names] == [summary["meta"][name] for name in names]


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


def test_an_export_may_be_a_job_and_a_word(clock: Clock) -> None:
    with speaking("export-job", clock) as http:
        order = http.post("/bulk-export", json=ORDER)
        assert order.json() == {"job_id": order.json()["job_id"], "status": "completed"}
        assert "location" not in order.headers
        state = http.get(f"/bulk-export/{order.json()['job_id']}").json()
        assert state.keys() == {"job_id", "status", "url"}
        assert len(httpx.get(state["url"]).text.splitlines()) == 26


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
    for inline_max in (50_000, 0):
        with speaking(dialect, clock, inline_max=inline_max) as http:
            assert http.post("/bulk-export", json=ORDER).json()["status"] in words


def test_every_set_of_words_tells_the_states_apart() -> None:
    states = ("pending", "processing", "completed", "failed", "expired")
    for name in ("reference", "status-upper", "status-done", "status-success"):
        words = dialect_of(name).words
        assert len({words.get(state, state) for state in states}) == len(states)


@pytest.mark.parametrize(
    ("dialect", "first", "retry_after"),
    [
        ("reference", {}, None),
        (
            "rate-headers",
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
        ("rate-retry-after", {}, "3600"),
        (
            "rate-headers,retry-none",
            {"ratelimit-policy": '"hour";q=5;w=3600', "ratelimit": '"hour";r=4;t=3600'},
            None,
        ),
    ],
)
def test_the_request_limit_speaks_in_its_headers(
    clock: Clock, dialect: str, first: dict[str, str], retry_after: str | int | None
) -> None:
    with speaking(dialect, clock, limit=5) as http:
        answers = [http.get("/dates") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    found = {name: value for name, value in answers[0].headers.items() if "ratelimit" in name}
    assert found == first
    stated = answers[5].headers.get("retry-after")
    if isinstance(retry_after, int):
        assert parsedate_to_datetime(str(stated)).timestamp() == retry_after
    else:
        assert stated == retry_after


def test_the_window_slides_in_a_dialect_only(clock: Clock) -> None:
    clock.advance(seconds=1800)
    for dialect, statuses in (("reference", [200, 429, 200]), ("rate-sliding", [200, 429, 429])):
        with speaking(dialect, clock, limit=1) as http:
            found = [http.get("/dates").status_code for _ in range(2)]
            clock.advance(seconds=1800)
            assert [*found, http.get("/dates").status_code] == statuses
            clock.advance(seconds=1800)
            assert http.get("/dates").status_code == (200 if dialect == "rate-sliding" else 429)


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
        assert answer.json()["meta"]["per_page"] == 10_000
        assert http.get("/events", params={**params, "per_page": "0"}).status_code == 400


def test_an_error_may_list_the_parameters_beside_its_text(clock: Clock) -> None:
    text = "hour must be a whole number; per_page should be greater than or equal to 1"
    params = {**DAY, "hour": "x", "per_page": "0"}
    with speaking("reference", clock) as http:
        assert http.get("/events", params=params).json() == {"error": text}
    with speaking("error-details", clock) as http:
        body = http.get("/events", params=params).json()
        assert body["error"] == text
        assert [detail["field"] for detail in body["details"]] == ["hour", "per_page"]
        assert http.get("/nowhere").json() == {"error": "Not Found"}


def test_every_choice_is_another_answer_and_says_why() -> None:
    for name, choice in DIALECTS.items():
        assert choice.description
        assert choice.reason
        assert (dialect_of(name) == Dialect()) == (name == "reference")


def test_choices_combine_and_refine_a_set() -> None:
    flat = {name: name for name in NUMBERS}
    none = Dialect(envelope="events", summary_envelope="summary", metadata={}, facts="")
    assert dialect_of("envelope-items, META-FLAT") == Dialect(
        envelope="items", metadata=flat, facts=""
    )
    assert dialect_of("hints,meta-none") == none
    for names in ("bare,meta-header", "modern,envelope-array"):
        assert dialect_of(names).metadata["total"] == f"{HEADER}X-Total-Count"
    assert dialect_of("bare").metadata == {}


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ("", "Unknown dialect ''. Known dialects: reference, hints, modern"),
        ("envelope-items,", "Unknown dialect ''"),
        ("envelope", "Unknown dialect 'envelope'"),
        ("envelope-results,envelope-items", "'envelope-items' contradicts 'envelope-results'"),
        ("fields-ids,ids-nil", "'ids-nil' contradicts 'fields-ids'"),
        ("page-ignored,page-empty", "'page-empty' contradicts 'page-ignored'"),
        ("envelope-items,modern", "'modern' is a complete set: put it first"),
        ("modern,bare", "'bare' is a complete set"),
        ("envelope-array,meta-flat", "no room for page numbers"),
        ("bare,says-error", "no room beside the rows"),
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
