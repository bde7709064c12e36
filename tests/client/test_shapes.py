"""Which list of an answer holds the records, and what an answer says about an error."""

import json
import logging
from datetime import date
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from tests.client.bench import Bench
from tests.client.notes import Notes
from tests.client.stand_in import Say

from adanalytics_client import InvalidRequest, ProtocolError, ServiceProfile, Summary
from adanalytics_client.observers import PartialAnswer

DAY = "2026-01-15"
ROWS = [{"event_id": "a", "n": 1}, {"event_id": "b", "n": 2}]
DEEP = {"response": {"body": {"events": ROWS, "total": 2}}}


@pytest.mark.parametrize(
    ("body", "rows_key"),
    [
        ({"items": [], "data": {"events": ROWS}}, None),
        ({"items": ROWS, "data": {"events": ROWS}}, None),
        ({"events": [], "data": {"events": ROWS}}, "events"),
    ],
)
def test_an_empty_list_hides_no_records(
    bench: Bench, body: dict[str, Any], rows_key: str | None
) -> None:
    bench.says(Say({**body, "total": 2}))
    with pytest.raises(ProtocolError, match=r"More than one list.*data\.events"):
        bench.open(service=ServiceProfile(rows_key=rows_key)).rows(DAY, split="none")
    named = bench.open(service=ServiceProfile(rows_key="data.events"))
    assert named.rows(DAY, split="none") == ROWS


@pytest.mark.parametrize("body", [{"items": [], "data": {"events": []}}, {"data": []}])
def test_empty_lists_only_are_no_events(bench: Bench, body: dict[str, Any]) -> None:
    bench.says(Say(body))
    assert bench.rows(DAY, split="none") == []


def test_a_path_names_a_list_at_any_depth(bench: Bench) -> None:
    bench.says(Say(DEEP))
    variant = bench.open(service=ServiceProfile(rows_key="response.body.events"))
    assert variant.rows(DAY, split="none") == ROWS
    folded = bench.open(service=ServiceProfile(rows_key="Response.Body.Events"))
    assert folded.rows(DAY, split="none") == ROWS
    file = BytesIO()
    query = variant.client.events(DAY, split="none", check="none")
    assert variant.on(query, "write", file, format="jsonl") == 2
    assert [json.loads(line) for line in file.getvalue().splitlines()] == ROWS
    bench.says(Say({"log.events": ROWS, "total": 2}))
    named = bench.open(service=ServiceProfile(rows_key="log.events"))
    assert named.rows(DAY, split="none") == ROWS


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (DEEP, "Client(service=ServiceProfile(rows_key='response.body.events'))."),
        ({"data": {"data": {"events": ROWS}}}, "rows_key='data.data.events'"),
        ({"events": [ROWS[0], None]}, "events is a list with null in it, not a list of objects"),
        ({"rows": [["a"], ["b"]]}, "rows is a list with a list in it, not"),
        ({"result": {"items": "none"}}, "result.items is a text, not"),
        ({"status": "processing"}, "No list of records was found. Keys seen: status."),
        (None, "The answer is null, not an object or"),
        ("oops", "The answer is a text, not"),
        (True, "The answer is true, not"),
        ([1], "The answer is a list with a number in it, not"),
        ({"stuff": [{"a": 1}]}, "Keys seen: stuff"),
        ({"data": {"stuff": []}}, "data.stuff"),
        ({"error": "database down", "events": []}, "an error instead of records: database down"),
        ({"data": {"events": [], "error": {"message": "busy"}}}, "instead of records: busy"),
    ],
)
def test_a_shape_that_does_not_fit_is_described(bench: Bench, body: Any, message: str) -> None:
    bench.says(Say(json.dumps(body).encode(), headers={"X-Request-Id": "r-17"}))
    with pytest.raises(ProtocolError) as caught:
        bench.rows(DAY)
    assert message in str(caught.value)
    assert caught.value.remedy
    assert caught.value.request_id == "r-17"


def test_many_keys_make_no_long_message(bench: Bench) -> None:
    bench.says(Say({"events": {f"id-{number}": ROWS[0] for number in range(5000)}}))
    with pytest.raises(ProtocolError, match=r"events is an object, not .* and 4981 more") as one:
        bench.rows(DAY)
    assert len(str(one.value)) < 1500
    bench.says(Say({"k" * 5000: 1}))
    with pytest.raises(ProtocolError) as other:
        bench.rows(DAY)
    assert len(str(other.value)) < 1500


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([DAY], 'The answer is a list with a text in it, not {"dates": '),
        ({"dates": None}, 'dates is null, not {"dates": '),
        ({"data": {"dates": [DAY]}}, 'an object with the keys data, data.dates, not {"dates"'),
        ({}, "The answer is an empty object, not"),
    ],
)
def test_dates_of_another_shape_are_described(bench: Bench, body: Any, message: str) -> None:
    bench.says(Say(json.dumps(body).encode()))
    with pytest.raises(ProtocolError) as caught:
        bench.call("dates")
    assert message in str(caught.value)


def test_an_answer_without_a_body_says_so(bench: Bench) -> None:
    bench.says(Say(status=204))
    for name, arguments in (("dates", ()), ("summary", (DAY,))):
        with pytest.raises(ProtocolError, match=r"no body \(204\)"):
            bench.call(name, *arguments)
    assert bench.rows(DAY, split="none") == []


def test_a_summary_of_another_shape_is_described(bench: Bench) -> None:
    bench.says(Say({"by_day": [{"clicks": 1}]}))
    with pytest.raises(ProtocolError) as caught:
        bench.call("summary", DAY)
    assert caught.value.message == ("No list of records was found. Keys seen: by_day.")


TOTALS = {"clicks": 5, "revenue": "1.50"}


@pytest.mark.parametrize(
    ("body", "totals", "kept"),
    [
        ({"total": 0, "summary": [], "totals": TOTALS}, TOTALS, {"total": 0}),
        ({"summary": [], "Totals": TOTALS, "total": 0}, TOTALS, {"total": 0}),
        ({"summary": [], "total": TOTALS}, TOTALS, {}),
        ({"summary": [], "totals": [TOTALS]}, [TOTALS], {}),
        ({"summary": [], "totals": 7, "total": TOTALS}, 7, {"total": TOTALS}),
        ({"summary": [], "total": 0}, None, {"total": 0}),
        ({"summary": [], "totals": None, "total": TOTALS}, TOTALS, {}),
        ({"results": [], "rows": 25, "totals": TOTALS}, TOTALS, {"rows_": 25}),
        ({"data": {"summary": [], "totals": TOTALS}, "total": 0}, TOTALS, {"total": 0}),
        ({"data": [], "meta": {"total": 0, "page": 1, "totals": TOTALS, "x": 1}}, TOTALS, {"x": 1}),
        ({"data": [], "meta": {"x": 1}, "x": 2, "totals": TOTALS}, TOTALS, {"x": 2}),
        ({"data": [], "meta": "v1", "totals": TOTALS}, TOTALS, {"meta": "v1"}),
    ],
)
def test_nothing_beside_a_summary_is_lost(
    bench: Bench, body: Any, totals: Any, kept: dict[str, Any]
) -> None:
    bench.says(Say(body))
    summary = bench.call("summary", DAY)
    dumped = summary.model_dump(exclude_unset=True)
    if isinstance(totals, dict):
        assert summary.totals.clicks == 5
        assert summary.totals.revenue == Decimal("1.50")
        assert dumped["totals"] == {"clicks": 5, "revenue": Decimal("1.50")}
    else:
        assert (summary.totals, dumped["totals"]) == (totals, totals)
    assert {name: summary[name] for name in kept} == kept
    assert summary.model_extra == kept
    written = json.loads(summary.model_dump_json(exclude_unset=True))
    assert written["totals"] == totals
    assert Summary.model_validate_json(summary.model_dump_json()) == summary


def test_ad_requests_are_requests_whatever_the_service_calls_them(bench: Bench) -> None:
    row = {"date": DAY, "ad_requests": 7, "clicks": 1}
    bench.says(Say({"summary": [row], "totals": {**row, "requests": 9}}))
    summary = bench.call("summary", DAY)
    assert (summary.rows[0].requests, summary.rows[0].model_extra) == (7, {})
    assert (summary.totals.requests, summary.totals["ad_requests"]) == (9, 7)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"campaignId": 7, "campaignName": "x"}, {"campaign_id": 7, "campaign_name": "x"}),
        ({"Campaign": "x", "eCPM": "1.5"}, {"campaign_name": "x", "ecpm": Decimal("1.5")}),
        ({"campaign": 7, "fillRate": None}, {"campaign_id": 7, "fill_rate": None}),
        ({"campaign_id": 7, "campaignId": 8}, {"campaign_id": 7, "campaignId": 8}),
        ({"cid": 7, "Clicks": "12"}, {"campaign_id": 7, "clicks": 12}),
        ({"campaign": {"id": 7}}, {"campaign": {"id": 7}}),
    ],
)
def test_columns_of_a_summary_have_the_documented_names(
    bench: Bench, row: dict[str, Any], expected: dict[str, Any]
) -> None:
    bench.says(Say({"data": [row, {**row, "campaign_id": 9}], "totals": {"Clicks": "12"}}))
    variant = bench.open(service=ServiceProfile(fields={"campaign_id": "cid"}))
    summary = variant.call("summary", DAY, group_by="campaign")
    assert summary.rows[0].model_dump(exclude_unset=True) == expected
    assert summary.totals.clicks == 12


@pytest.mark.parametrize("name", ["date", "day", "eventDate"])
@pytest.mark.parametrize("time", ["", "T00:00:00.000Z", " 00:00:00", " 00:00:00+00"])
def test_a_day_of_a_summary_is_a_day(bench: Bench, name: str, time: str) -> None:
    bench.says(Say({"data": [{name: f"{DAY}{time}", "clicks": 1}]}))
    assert bench.call("summary", DAY, group_by="day").rows[0].date == date(2026, 1, 15)


DEEPEST = {"objects": b'{"a":' * 900 + b"1" + b"}" * 900, "lists": b"[" * 900 + b"]" * 900}


@pytest.mark.parametrize("kind", DEEPEST)
@pytest.mark.parametrize(
    ("call", "arguments", "beside"),
    [
        ("dates", [], b'"dates":["2026-01-15"]'),
        ("summary", [DAY], b'"summary":[{"impressions":1}]'),
        ("start_export", [DAY], b'"status":"done","url":"/a.csv"'),
    ],
)
@pytest.mark.parametrize("name", [b"error", b"meta"])
def test_an_answer_that_is_nested_too_deeply_is_told(
    bench: Bench, kind: str, call: str, arguments: list[str], beside: bytes, name: bytes
) -> None:
    """The decoder reads more levels than can be walked."""
    body = b'{"%b":%b,%b}' % (name, DEEPEST[kind], beside)
    bench.says(Say(body, headers={"Content-Type": "application/json"}))
    with pytest.raises(ProtocolError, match="nested too deeply"):
        bench.call(call, *arguments)


@pytest.mark.parametrize("kind", DEEPEST)
def test_a_page_that_is_nested_too_deeply_is_told(bench: Bench, kind: str) -> None:
    bench.says(Say(b'{"error":%b,"events":[{"event_id":"1"}]}' % DEEPEST[kind]))
    with pytest.raises(ProtocolError, match="nested too deeply"):
        bench.rows(DAY, hour=3)


@pytest.mark.parametrize("kind", DEEPEST)
def test_an_error_that_is_nested_too_deeply_has_no_words(bench: Bench, kind: str) -> None:
    bench.says(Say(b'{"details":[%b]}' % DEEPEST[kind], status=400))
    with pytest.raises(InvalidRequest, match="refused the request"):
        bench.call("dates")


TWO = b'[{"event_id":"1"},{"event_id":"2"}]'


@pytest.mark.parametrize(
    "body",
    [
        b'{"events":%b,"events":[]}',
        b'{"events":[],"events":%b}',
        b'{"events": %b, "x": 1, "events" : [ {"event_id": "3"} ] }',
        b'{"data":{"rows":%b,"rows":[]}}',
        b'{"data":{"rows":%b},"data":{"rows":[{"event_id":"3"}]}}',
        b'{"events":null,"events":%b}',
        b'{"status":"ok","events":%b,"status":"failed"}',
    ],
)
def test_a_name_that_comes_twice_around_the_events_is_refused(bench: Bench, body: bytes) -> None:
    bench.says(Say(body % TWO, headers={"X-Request-Id": "r-1"}))
    with pytest.raises(ProtocolError, match="twice in one object") as caught:
        bench.rows(DAY, hour=3)
    assert (len(bench.asked), caught.value.request_id) == (1, "r-1")
    assert "/ad-analytics/events?" in (caught.value.url or "")


TWO_ROWS = [{"event_id": "a"}, {"event_id": "b"}]
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
    bench: Bench, sign: dict[str, Any], words: str
) -> None:
    headers = {"X-Request-Id": "r-17"}
    for body in ({"events": [], **sign}, {"data": {"items": [], **sign}}, sign):
        bench.says(Say(body, headers=headers))
        with pytest.raises(ProtocolError, match="an error instead of records") as caught:
            bench.rows(DAY)
        assert words in caught.value.message
        assert ". Try later" in str(caught.value)
        assert caught.value.request_id == "r-17"
    bench.says(Say({"summary": [], **sign}, headers=headers))
    with pytest.raises(ProtocolError, match="an error instead of records"):
        bench.call("summary", DAY)
    bench.says(Say({"dates": [], **sign}, headers=headers))
    with pytest.raises(ProtocolError, match="an error instead of dates") as caught:
        bench.call("dates")
    assert words in caught.value.message
    assert ". Try later" in str(caught.value)


@pytest.mark.parametrize("room", NO_SIGNS)
def test_room_for_an_error_is_none(bench: Bench, room: dict[str, Any]) -> None:
    notes = Notes()
    variant = bench.open(observer=notes)
    bench.says(Say({"events": [], **room}))
    assert variant.rows(DAY, split="none") == []
    bench.says(Say({"events": TWO_ROWS, "total": 2, **room}))
    assert variant.rows(DAY, split="none") == TWO_ROWS
    bench.says(Say({"dates": [], **room}))
    assert variant.call("dates") == []
    bench.says(Say({"summary": [], **room}))
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
    bench: Bench, sign: dict[str, Any], words: str
) -> None:
    headers = {"X-Request-Id": "r-17"}
    bench.says(Say({"events": TWO_ROWS, "total": 2, **sign}, headers=headers))
    with pytest.raises(ProtocolError, match="says that they are not all") as caught:
        bench.rows(DAY, split="none")
    assert words in caught.value.message
    assert caught.value.request_id == "r-17"
    bench.says(Say({"summary": [{"clicks": 1}], **sign}))
    with pytest.raises(ProtocolError, match="says that they are not all"):
        bench.call("summary", DAY)
    bench.says(Say({"dates": [DAY], **sign}))
    with pytest.raises(ProtocolError, match="says that they are not all"):
        bench.call("dates")


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
def test_a_header_may_state_it(bench: Bench, headers: dict[str, str], *, partial: bool) -> None:
    bench.says(Say({"events": TWO_ROWS, "total": 2}, headers=headers))
    if not partial:
        assert bench.rows(DAY, split="none") == TWO_ROWS
        return
    with pytest.raises(ProtocolError, match="says that they are not all"):
        bench.rows(DAY, split="none")


@pytest.mark.parametrize("status", [202, 206, 207])
def test_a_status_may_state_it(bench: Bench, status: int) -> None:
    for body, call in (
        ({"events": [], "total": 0}, lambda: bench.rows(DAY, split="none")),
        ({"summary": []}, lambda: bench.call("summary", DAY)),
        ({"dates": []}, lambda: bench.call("dates")),
    ):
        bench.says(Say(body, status=status, headers={"Retry-After": "0"}))
        with pytest.raises(ProtocolError, match=f"Status {status}: .* not the whole"):
            call()


def test_a_response_that_is_not_ready_is_requested_again(bench: Bench) -> None:
    bench.says(Say({"events": []}, status=202), Say({"events": TWO_ROWS, "total": 2}))
    assert bench.rows(DAY, split="none") == TWO_ROWS


def test_warnings_are_logged_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    warned = {"events": [], "total": 0, "warnings": ["slow shard"]}
    bench.says(Say(warned, headers={"Warning": '110 - "Response is Stale"'}))
    assert bench.rows(DAY) == []
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
        ({"code": 40100, "message": "Partly cached", "data": TWO_ROWS}, []),
    ],
)
def test_a_message_beside_no_rows_is_logged(
    bench: Bench, caplog: pytest.LogCaptureFixture, body: dict[str, Any], messages: list[str]
) -> None:
    """Such as TikTok's Business API, whose codes of errors are numbers other than 0."""
    bench.says(Say(body))
    rows = bench.call("summary", DAY).rows
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
    bench: Bench, caplog: pytest.LogCaptureFixture, warnings: Any, words: str
) -> None:
    bench.says(Say({"data": TWO_ROWS, "meta": {"total": 2}, "warnings": warnings}))
    assert bench.rows(DAY, split="none") == TWO_ROWS
    assert f"The service warns: {words}" in caplog.messages


@pytest.mark.parametrize(("sign", "words"), SHORTFALLS)
def test_on_drift_warn_takes_them_and_tells(
    bench: Bench, caplog: pytest.LogCaptureFixture, sign: dict[str, Any], words: str
) -> None:
    notes = Notes()
    variant, headers = bench.open(observer=notes), {"X-Request-Id": "r-17"}
    bench.says(Say({"events": TWO_ROWS, "total": 2, **sign}, headers=headers))
    with caplog.at_level(logging.WARNING, "adanalytics_client"):
        pages = variant.pages(DAY, split="none", on_drift="warn")
    assert [page.partial for page in pages] == notes.of(PartialAnswer)
    (partial,) = notes.of(PartialAnswer)
    assert words in partial.reason
    assert (partial.request_id, "/events?start_date=2026-01-15" in partial.url) == ("r-17", True)
    (line,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert line == str(partial)


def test_an_echoed_parameter_says_nothing(bench: Bench) -> None:
    echo = {"meta": {"status": "error", "partial": True}}
    params = {"status": "error", "partial": "true"}
    bench.says(Say({"events": TWO_ROWS, "total": 2, **echo}))
    assert bench.rows(DAY, split="none", params=params) == TWO_ROWS
    bench.says(Say({"events": TWO_ROWS, "total": 2, "status": "failed"}))
    with pytest.raises(ProtocolError, match="says that they are not all"):
        bench.rows(DAY, split="none", params=params)
    bench.says(Say({"summary": [{"clicks": 1}], **echo}))
    assert len(bench.call("summary", DAY, params=params).rows) == 1


def test_events_about_errors_are_events(bench: Bench) -> None:
    notes = Notes()
    variant = bench.open(observer=notes)
    rows = [{"event_id": "a", "error": "no ad", "error_code": 303, "status": "failed"}]
    bench.says(Say({"events": rows, "total": 1}))
    assert variant.rows(DAY, split="none") == rows
    assert notes.of(PartialAnswer) == []


def test_a_stated_error_shows_no_credential_and_ends(bench: Bench) -> None:
    notes = Notes()
    variant = bench.open(observer=notes, api_key="k1-secret")
    words = "x" * 990 + "k1-secret" + "y" * 5000
    bench.says(Say({"events": [], "error": words}))
    with pytest.raises(ProtocolError) as caught:
        variant.rows(DAY)
    assert "k1-s" not in str(caught.value)
    assert len(str(caught.value)) < 1500
    bench.says(Say({"events": TWO_ROWS, "total": 2, "error": words}))
    with pytest.raises(ProtocolError, match="not all") as caught:
        variant.rows(DAY, split="none")
    assert "k1-s" not in str(caught.value)
    variant.rows(DAY, split="none", on_drift="warn")
    assert "k1-s" not in str(notes.of(PartialAnswer)[0])
    assert len(str(notes.of(PartialAnswer)[0])) < 1500


def test_a_page_as_text_tells_it_too(bench: Bench) -> None:
    bench.says(Say({"events": TWO_ROWS, "total": 2, "error": "slow"}))
    (page,) = bench.all_of(bench.client.events(DAY, split="none", on_drift="warn").text_pages())
    assert (page.events, page.partial.reason) == (2, "slow")
