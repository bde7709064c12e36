"""Answers of status 200 that say that something failed, with and without data beside it."""

import logging
from typing import Any

import pytest
from tests.client.notes import Notes
from tests.client.stand_in import Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import ProtocolError
from adanalytics_client.observers import PartialAnswer

DAY = "2026-01-15"
ROWS = [{"event_id": "a"}, {"event_id": "b"}]
SIGNS: list[tuple[dict[str, Any], str]] = [
    ({"error": "db timeout"}, "db timeout"),
    ({"errors": [{"message": "shard down"}]}, "shard down"),
    ({"errors": ["one", {"message": "two"}]}, "one; two"),
    ({"errors": {"hour": ["is busy"]}}, 'hour":["is busy'),
    ({"errors": {"hours": [{"hour": 7, "reason": "is busy"}]}}, '"reason":"is busy"'),
    ({"error": {"code": 7, "details": [{"hour": 7}]}}, '"details":[{"hour":7}]'),
    ({"error": True}, "true"),
    ({"Error": {"code": 17, "detail": "db"}}, '"detail":"db"'),
    ({"error": {"code": 7}}, '"code":7'),
    ({"errorMessage": "half"}, "half"),
    ({"failures": [{"shard": 1, "reason": "busy"}]}, '"reason":"busy"'),
]
EMPTY: list[Any] = [None, "", [], {}, False, 0, 17, {"code": 0, "message": ""}]
COUNTS: list[Any] = [0, 3, [], [None], {}]
NO_SIGNS: list[dict[str, Any]] = [
    *({"error": each} for each in EMPTY),
    *({"errors": each} for each in COUNTS),
    {"error_code": 303, "warnings": ["slow"]},
    {"success": True, "ok": "true", "status": "ok", "message": "suspended", "truncated": False},
    {
        "timeout": 1,
        "timed_out": "no",
        "allow_partial_results": True,
        "results": 0,
        "result": "none",
    },
    {"status": 200, "code": "200", "state": "no errors", "jobComplete": True},
    {"_shards": {"total": 5, "successful": 5, "skipped": 1, "failed": 0}, "max_rows": 1},
    {"query": {"status": "failed", "error": "303"}, "campaign": {"status": "cancelled"}},
    *(
        {"meta": {name: True}, name: True}
        for name in (
            "exclude_incomplete",
            "hidePartialHours",
            "partial_hours_excluded",
            "show_incomplete",
            "with_incomplete",
            "without_partial_days",
            "only_incomplete",
            "exclude_degraded",
            "skip_incomplete_days",
            "is_partial_allowed",
            "supports_partial_results",
            "partial_response_supported",
            "partial_results_enabled",
        )
    ),
    {"query": {"partial": True, "incomplete_results": True, "timeout": True}},
    {"meta": {"only_errors": True, "status": "error"}},
    {"state": "running", "result": "error_free", "outcome": "zero errors"},
]


@pytest.mark.parametrize(("sign", "words"), SIGNS)
def test_an_error_beside_no_data_is_not_taken_for_no_data(
    variant: Variant, stand_in: StandIn, sign: dict[str, Any], words: str
) -> None:
    headers = {"X-Request-Id": "r-17"}
    for body in ({"events": [], **sign}, {"data": {"items": [], **sign}}, sign):
        stand_in.says(Say(body, headers=headers))
        with pytest.raises(ProtocolError, match="an error instead of records") as caught:
            variant.rows(DAY)
        assert words in caught.value.message
        assert caught.value.remedy
        assert caught.value.request_id == "r-17"
    stand_in.says(Say({"summary": [], **sign}, headers=headers))
    with pytest.raises(ProtocolError, match="an error instead of records"):
        variant.call("summary", DAY)
    stand_in.says(Say({"dates": [], **sign}, headers=headers))
    with pytest.raises(ProtocolError, match="an error instead of dates") as caught:
        variant.call("dates")
    assert words in caught.value.message


@pytest.mark.parametrize("room", NO_SIGNS)
def test_room_for_an_error_is_none(
    open_variant: OpenVariant, stand_in: StandIn, room: dict[str, Any]
) -> None:
    notes = Notes()
    variant = open_variant(observer=notes)
    stand_in.says(Say({"events": [], **room}))
    assert variant.rows(DAY, split="none") == []
    stand_in.says(Say({"events": ROWS, "total": 2, **room}))
    assert variant.rows(DAY, split="none") == ROWS
    stand_in.says(Say({"dates": [], **room}))
    assert variant.call("dates") == []
    stand_in.says(Say({"summary": [], **room}))
    assert variant.call("summary", DAY).rows == []
    assert notes.of(PartialAnswer) == []


SHORTFALLS: list[tuple[dict[str, Any], str]] = [
    *SIGNS,
    ({"success": False}, "success: false"),
    ({"ok": "false"}, 'ok: "false"'),
    ({"status": "error"}, 'status: "error"'),
    ({"meta": {"status": "PARTIAL"}}, 'status: "PARTIAL"'),
    ({"state": "in_progress"}, 'state: "in_progress"'),
    ({"status": 503}, "status: 503"),
    ({"truncated": True}, "truncated: true"),
    ({"timedOut": True}, "timedOut: true"),
    ({"incomplete_results": True}, "incomplete_results: true"),
    ({"incomplete": 1}, "incomplete: 1"),
    ({"partial": True}, "partial: true"),
    ({"complete": False}, "complete: false"),
    ({"_shards": {"total": 5, "successful": 3, "failed": 2}}, "_shards.failed: 2"),
    ({"_shards": {"total": 5, "successful": 3}}, "_shards.failed: 2"),
    *(
        (sign, f"{name}: ")
        for sign in (
            {"ok": "no"},
            {"is_success": False},
            {"jobComplete": False},
            {"completed": False},
            {"status": "partial_success"},
            {"status": "timed out"},
            {"outcome": "aborted"},
            {"job_state": "CANCELLED"},
            {"status": "degraded"},
            {"result": "completed with errors"},
            {"partialSuccess": True},
            {"truncated": "yes"},
            {"results_truncated": True},
            {"timeout": True},
            {"limit_reached": True},
            {"maxRowsExceeded": True},
            {"has_errors": True},
            {"user_limit_reached": True},
            {"returned_partial": True},
            {"skipped_incomplete_segments": True},
            {"job_state": "running"},
            {"status": "running"},
            {"failed_shards": 1},
            {"status": "500"},
            {"code": 206},
            {"http_status": 503},
        )
        for name in sign
    ),
    ({"meta": {"errors": ["half"]}}, "errors: half"),
    ({"status": {"success": False}}, "success: false"),
    ({"response": {"status": "partial"}}, 'status: "partial"'),
    ({"query": {"truncated": True}}, "truncated: true"),
    ({"stats": {"timed_out": True}}, "timed_out: true"),
    ({"meta": {"allow_partial": True, "status": "partial"}}, 'status: "partial"'),
    ({"only_errors": False, "status": "error"}, 'status: "error"'),
]


@pytest.mark.parametrize(("sign", "words"), SHORTFALLS)
def test_data_that_are_stated_not_to_be_all_are_refused(
    variant: Variant, stand_in: StandIn, sign: dict[str, Any], words: str
) -> None:
    headers = {"X-Request-Id": "r-17"}
    stand_in.says(Say({"events": ROWS, "total": 2, **sign}, headers=headers))
    with pytest.raises(ProtocolError, match="says that they are not all") as caught:
        variant.rows(DAY, split="none")
    assert words in caught.value.message
    assert caught.value.request_id == "r-17"
    stand_in.says(Say({"summary": [{"clicks": 1}], **sign}))
    with pytest.raises(ProtocolError, match="says that they are not all"):
        variant.call("summary", DAY)
    stand_in.says(Say({"dates": [DAY], **sign}))
    with pytest.raises(ProtocolError, match="says that they are not all"):
        variant.call("dates")


@pytest.mark.parametrize(
    ("headers", "partial"),
    [
        ({"X-Truncated": "true"}, True),
        ({"X-Incomplete-Results": "1"}, True),
        ({"X-Success": "false"}, True),
        ({"Truncated": "yes"}, True),
        ({"X-Result-Status": "partial"}, True),
        ({"X-Error": "shard down"}, True),
        # Those of a server say nothing of the data.
        ({"X-Status": "running"}, False),
        ({"X-Request-Status": "processing"}, False),
        ({"X-Job-Status": "running"}, False),
        ({"X-Partial-Response-Supported": "true"}, False),
    ],
)
def test_a_header_may_state_it(
    variant: Variant, stand_in: StandIn, headers: dict[str, str], *, partial: bool
) -> None:
    stand_in.says(Say({"events": ROWS, "total": 2}, headers=headers))
    if not partial:
        assert variant.rows(DAY, split="none") == ROWS
        return
    with pytest.raises(ProtocolError, match="says that they are not all"):
        variant.rows(DAY, split="none")


@pytest.mark.parametrize("status", [202, 206, 207])
def test_a_status_may_state_it(variant: Variant, stand_in: StandIn, status: int) -> None:
    for body, call in (
        ({"events": [], "total": 0}, lambda: variant.rows(DAY, split="none")),
        ({"summary": []}, lambda: variant.call("summary", DAY)),
        ({"dates": []}, lambda: variant.call("dates")),
    ):
        stand_in.says(Say(body, status=status, headers={"Retry-After": "0"}))
        with pytest.raises(ProtocolError, match=f"Status {status}: .* not the whole"):
            call()


def test_a_response_that_is_not_ready_is_requested_again(
    variant: Variant, stand_in: StandIn
) -> None:
    stand_in.says(Say({"events": []}, status=202), Say({"events": ROWS, "total": 2}))
    assert variant.rows(DAY, split="none") == ROWS


def test_warnings_are_logged_once(
    variant: Variant, stand_in: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    warned = {"events": [], "total": 0, "warnings": ["slow shard"]}
    stand_in.says(Say(warned, headers={"Warning": '110 - "Response is Stale"'}))
    assert variant.rows(DAY) == []
    assert caplog.messages == [
        'The service warns: ["slow shard"]',
        'The service warns: 110 - "Response is Stale"',
    ]


@pytest.mark.parametrize(
    ("body", "messages"),
    [
        ({"code": 40100, "message": "Too many requests", "data": []}, ["Too many requests"]),
        ({"ret": -1, "msg": "internal error", "data": []}, ["internal error"]),
        ({"code": 0, "message": "OK", "data": []}, []),
        ({"code": 40100, "message": "Partly cached", "data": ROWS}, []),
    ],
)
def test_a_message_beside_no_rows_is_logged(
    variant: Variant,
    stand_in: StandIn,
    caplog: pytest.LogCaptureFixture,
    body: dict[str, Any],
    messages: list[str],
) -> None:
    """Such as TikTok's Business API, whose codes of errors are numbers other than 0."""
    stand_in.says(Say(body))
    rows = variant.call("summary", DAY).rows
    assert len(rows) == len(body["data"])
    assert caplog.messages == [f"The service warns: {message}" for message in messages]


@pytest.mark.parametrize(
    ("warnings", "words"),
    [
        ([{"code": 3, "message": "slow"}], '[{"code":3,"message":"slow"}]'),
        ({"shards": [{"id": 1.50}]}, '{"shards":[{"id":1.5}]}'),
    ],
)
def test_warnings_may_be_objects(
    variant: Variant, stand_in: StandIn, caplog: pytest.LogCaptureFixture, warnings: Any, words: str
) -> None:
    stand_in.says(Say({"data": ROWS, "meta": {"total": 2}, "warnings": warnings}))
    assert variant.rows(DAY, split="none") == ROWS
    assert f"The service warns: {words}" in caplog.messages


@pytest.mark.parametrize(("sign", "words"), SHORTFALLS)
def test_on_drift_warn_takes_them_and_tells(
    open_variant: OpenVariant,
    stand_in: StandIn,
    caplog: pytest.LogCaptureFixture,
    sign: dict[str, Any],
    words: str,
) -> None:
    notes = Notes()
    variant, headers = open_variant(observer=notes), {"X-Request-Id": "r-17"}
    stand_in.says(Say({"events": ROWS, "total": 2, **sign}, headers=headers))
    with caplog.at_level(logging.WARNING, "adanalytics_client"):
        pages = variant.pages(DAY, split="none", on_drift="warn")
    assert [page.partial for page in pages] == notes.of(PartialAnswer)
    (partial,) = notes.of(PartialAnswer)
    assert words in partial.reason
    assert (partial.request_id, "/events?start_date=2026-01-15" in partial.url) == ("r-17", True)
    (line,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert line == str(partial)


def test_an_echoed_parameter_says_nothing(variant: Variant, stand_in: StandIn) -> None:
    echo = {"meta": {"status": "error", "partial": True}}
    params = {"status": "error", "partial": "true"}
    stand_in.says(Say({"events": ROWS, "total": 2, **echo}))
    assert variant.rows(DAY, split="none", params=params) == ROWS
    stand_in.says(Say({"events": ROWS, "total": 2, "status": "failed"}))
    with pytest.raises(ProtocolError, match="says that they are not all"):
        variant.rows(DAY, split="none", params=params)
    stand_in.says(Say({"summary": [{"clicks": 1}], **echo}))
    assert len(variant.call("summary", DAY, params=params).rows) == 1


def test_events_about_errors_are_events(open_variant: OpenVariant, stand_in: StandIn) -> None:
    notes = Notes()
    variant = open_variant(observer=notes)
    rows = [{"event_id": "a", "error": "no ad", "error_code": 303, "status": "failed"}]
    stand_in.says(Say({"events": rows, "total": 1}))
    assert variant.rows(DAY, split="none") == rows
    assert notes.of(PartialAnswer) == []


def test_a_stated_error_shows_no_credential_and_ends(
    open_variant: OpenVariant, stand_in: StandIn
) -> None:
    notes = Notes()
    variant = open_variant(observer=notes, api_key="k1-secret")
    words = "x" * 990 + "k1-secret" + "y" * 5000
    stand_in.says(Say({"events": [], "error": words}))
    with pytest.raises(ProtocolError) as caught:
        variant.rows(DAY)
    assert "k1-s" not in str(caught.value)
    assert len(str(caught.value)) < 1500
    stand_in.says(Say({"events": ROWS, "total": 2, "error": words}))
    with pytest.raises(ProtocolError, match="not all") as caught:
        variant.rows(DAY, split="none")
    assert "k1-s" not in str(caught.value)
    variant.rows(DAY, split="none", on_drift="warn")
    assert "k1-s" not in str(notes.of(PartialAnswer)[0])
    assert len(str(notes.of(PartialAnswer)[0])) < 1500


def test_a_page_as_text_tells_it_too(variant: Variant, stand_in: StandIn) -> None:
    stand_in.says(Say({"events": ROWS, "total": 2, "error": "slow"}))
    (page,) = variant.all_of(variant.client.events(DAY, split="none", on_drift="warn").text_pages())
    assert (page.events, page.partial.reason) == (2, "slow")
