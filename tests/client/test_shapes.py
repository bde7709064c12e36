"""Answers whose list of records is hard to find: which list counts, and what an error says."""

import json
from datetime import date
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from tests.client.stand_in import Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import InvalidRequest, ProtocolError, ServiceProfile, Summary

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
    open_variant: OpenVariant, stand_in: StandIn, body: dict[str, Any], rows_key: str | None
) -> None:
    stand_in.says(Say({**body, "total": 2}))
    with pytest.raises(ProtocolError, match=r"More than one list.*data\.events"):
        open_variant(service=ServiceProfile(rows_key=rows_key)).rows(DAY, split="none")
    named = open_variant(service=ServiceProfile(rows_key="data.events"))
    assert named.rows(DAY, split="none") == ROWS


@pytest.mark.parametrize("body", [{"items": [], "data": {"events": []}}, {"data": []}])
def test_empty_lists_only_are_no_events(
    variant: Variant, stand_in: StandIn, body: dict[str, Any]
) -> None:
    stand_in.says(Say(body))
    assert variant.rows(DAY, split="none") == []


def test_a_path_names_a_list_at_any_depth(open_variant: OpenVariant, stand_in: StandIn) -> None:
    stand_in.says(Say(DEEP))
    variant = open_variant(service=ServiceProfile(rows_key="response.body.events"))
    assert variant.rows(DAY, split="none") == ROWS
    folded = open_variant(service=ServiceProfile(rows_key="Response.Body.Events"))
    assert folded.rows(DAY, split="none") == ROWS
    file = BytesIO()
    query = variant.client.events(DAY, split="none", check="none")
    assert variant.on(query, "write", file, format="jsonl") == 2
    assert [json.loads(line) for line in file.getvalue().splitlines()] == ROWS
    stand_in.says(Say({"log.events": ROWS, "total": 2}))
    named = open_variant(service=ServiceProfile(rows_key="log.events"))
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
def test_a_shape_that_does_not_fit_is_described(
    variant: Variant, stand_in: StandIn, body: Any, message: str
) -> None:
    stand_in.says(Say(json.dumps(body).encode(), headers={"X-Request-Id": "r-17"}))
    with pytest.raises(ProtocolError) as caught:
        variant.rows(DAY)
    assert message in str(caught.value)
    assert caught.value.remedy
    assert caught.value.request_id == "r-17"


def test_many_keys_make_no_long_message(variant: Variant, stand_in: StandIn) -> None:
    stand_in.says(Say({"events": {f"id-{number}": ROWS[0] for number in range(5000)}}))
    with pytest.raises(ProtocolError, match=r"events is an object, not .* and 4981 more") as one:
        variant.rows(DAY)
    assert len(str(one.value)) < 1500
    stand_in.says(Say({"k" * 5000: 1}))
    with pytest.raises(ProtocolError) as other:
        variant.rows(DAY)
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
def test_dates_of_another_shape_are_described(
    variant: Variant, stand_in: StandIn, body: Any, message: str
) -> None:
    stand_in.says(Say(json.dumps(body).encode()))
    with pytest.raises(ProtocolError) as caught:
        variant.call("dates")
    assert message in str(caught.value)


def test_an_answer_without_a_body_says_so(variant: Variant, stand_in: StandIn) -> None:
    stand_in.says(Say(status=204))
    for name, arguments in (("dates", ()), ("summary", (DAY,))):
        with pytest.raises(ProtocolError, match=r"no body \(204\)"):
            variant.call(name, *arguments)
    assert variant.rows(DAY, split="none") == []


def test_a_summary_of_another_shape_is_described(variant: Variant, stand_in: StandIn) -> None:
    stand_in.says(Say({"by_day": [{"clicks": 1}]}))
    with pytest.raises(ProtocolError) as caught:
        variant.call("summary", DAY)
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
    variant: Variant, stand_in: StandIn, body: Any, totals: Any, kept: dict[str, Any]
) -> None:
    stand_in.says(Say(body))
    summary = variant.call("summary", DAY)
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


def test_ad_requests_are_requests_whatever_the_service_calls_them(
    variant: Variant, stand_in: StandIn
) -> None:
    row = {"date": DAY, "ad_requests": 7, "clicks": 1}
    stand_in.says(Say({"summary": [row], "totals": {**row, "requests": 9}}))
    summary = variant.call("summary", DAY)
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
    open_variant: OpenVariant, stand_in: StandIn, row: dict[str, Any], expected: dict[str, Any]
) -> None:
    stand_in.says(Say({"data": [row, {**row, "campaign_id": 9}], "totals": {"Clicks": "12"}}))
    variant = open_variant(service=ServiceProfile(fields={"campaign_id": "cid"}))
    summary = variant.call("summary", DAY, group_by="campaign")
    assert summary.rows[0].model_dump(exclude_unset=True) == expected
    assert summary.totals.clicks == 12


@pytest.mark.parametrize("name", ["date", "day", "eventDate"])
@pytest.mark.parametrize("time", ["", "T00:00:00.000Z", " 00:00:00", " 00:00:00+00"])
def test_a_day_of_a_summary_is_a_day(
    variant: Variant, stand_in: StandIn, name: str, time: str
) -> None:
    stand_in.says(Say({"data": [{name: f"{DAY}{time}", "clicks": 1}]}))
    assert variant.call("summary", DAY, group_by="day").rows[0].date == date(2026, 1, 15)


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
    variant: Variant,
    stand_in: StandIn,
    kind: str,
    call: str,
    arguments: list[str],
    beside: bytes,
    name: bytes,
) -> None:
    """The decoder reads more levels than can be walked."""
    body = b'{"%b":%b,%b}' % (name, DEEPEST[kind], beside)
    stand_in.says(Say(body, headers={"Content-Type": "application/json"}))
    with pytest.raises(ProtocolError, match="nested too deeply"):
        variant.call(call, *arguments)


@pytest.mark.parametrize("kind", DEEPEST)
def test_a_page_that_is_nested_too_deeply_is_told(
    variant: Variant, stand_in: StandIn, kind: str
) -> None:
    stand_in.says(Say(b'{"error":%b,"events":[{"event_id":"1"}]}' % DEEPEST[kind]))
    with pytest.raises(ProtocolError, match="nested too deeply"):
        variant.rows(DAY, hour=3)


@pytest.mark.parametrize("kind", DEEPEST)
def test_an_error_that_is_nested_too_deeply_has_no_words(
    variant: Variant, stand_in: StandIn, kind: str
) -> None:
    stand_in.says(Say(b'{"details":[%b]}' % DEEPEST[kind], status=400))
    with pytest.raises(InvalidRequest, match="refused the request"):
        variant.call("dates")


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
def test_a_name_that_comes_twice_around_the_events_is_refused(
    variant: Variant, stand_in: StandIn, body: bytes
) -> None:
    stand_in.says(Say(body % TWO, headers={"X-Request-Id": "r-1"}))
    with pytest.raises(ProtocolError, match="twice in one object") as caught:
        variant.rows(DAY, hour=3)
    assert (len(stand_in.asked), caught.value.request_id) == (1, "r-1")
    assert "/ad-analytics/events?" in (caught.value.url or "")
