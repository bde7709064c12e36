"""The models: their schemas, their help, their days and times, how they print and convert."""

import asyncio
import json
import pydoc
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from pydantic import VERSION

from adanalytics_client import (
    Client,
    Event,
    ExportFile,
    ExportPhase,
    ExportStatus,
    Plan,
    Summary,
    SummaryRow,
)
from adanalytics_client._json.fields import COLUMN_OF_TYPE

MODELS: list[type[Event | Summary | SummaryRow]] = [Event, Summary, SummaryRow]
DAY = date(2026, 1, 15)
ROW = {
    "date": "2026-01-15",
    "campaign_name": "<b>Spring & Co</b>",
    "impressions": 12,
    "revenue": "0.000000000",
    "ctr": Decimal("0.083333"),
    "reach": 7,
}
SUMMARY = {
    "rows": [ROW, {"date": "soon", "revenue": "12.500000000"}],
    "totals": {"revenue": "12.500000000"},
    "group_by": "day",
    "start_date": "2026-01-15",
    "currency": "USD",
}


@pytest.mark.parametrize("mode", ["validation", "serialization"])
@pytest.mark.parametrize("model", MODELS)
def test_a_schema_describes_every_field(
    model: type[Event | Summary | SummaryRow], mode: Literal["validation", "serialization"]
) -> None:
    schema = model.model_json_schema(mode=mode)
    assert list(schema["properties"]) == list(model.model_fields)
    assert all(each["description"] for each in schema["properties"].values())
    assert "Attributes" not in schema["description"]
    json.dumps(schema)


def test_a_schema_names_the_type_and_takes_any_other() -> None:
    fields = Event.model_json_schema(mode="serialization")["properties"]
    kinds = {
        name: [each.get("format", each.get("type")) for each in fields[name]["anyOf"]]
        for name in ("event_id", "event_date", "event_hour", "is_filtered", "key_values")
    }
    assert kinds == {
        "event_id": ["string", "null", None],
        "event_date": ["date", "null", None],
        "event_hour": ["integer", "null", None],
        "is_filtered": ["boolean", "null", None],
        "key_values": ["object", "null", None],
    }
    assert "units of `currency`" in fields["revenue"]["description"]


def test_a_subclass_keeps_the_texts_and_describes_its_own_fields() -> None:
    class Own(Event):
        score: int = 0
        """Points for the event."""

    schema = Own.model_json_schema()
    assert "description" not in schema
    assert schema["properties"]["score"]["description"] == "Points for the event."
    assert schema["properties"]["event_id"]["description"].startswith("UUID")


def test_a_fastapi_route_may_return_and_take_models() -> None:
    app = FastAPI()

    @app.get("/summary")
    def report() -> Summary:
        return Summary.model_validate(SUMMARY)

    @app.post("/events")
    def take(event: Event) -> Event:
        return event

    sent = {"event_id": "e-1", "revenue": "0.10", "new": [1]}

    async def ask() -> list[Any]:
        async with AsyncClient(transport=ASGITransport(app), base_url="http://app") as web:
            answers = [
                await web.get("/openapi.json"),
                await web.get("/summary"),
                await web.post("/events", json=sent),
            ]
        return [each.raise_for_status().json() for each in answers]

    description, summary, event = asyncio.run(ask())
    assert {"Summary", "SummaryRow"} <= description["components"]["schemas"].keys()
    row = summary["rows"][0]
    assert (row["date"], row["revenue"]) == ("2026-01-15", "0.000000000")
    assert {name: event[name] for name in sent} == sent


@pytest.mark.parametrize("model", MODELS)
def test_help_fits_two_screens_and_names_every_field(model: type[Any]) -> None:
    lines = pydoc.plain(pydoc.render_doc(model)).splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 110
    described = {line.strip(" |").partition(": ")[0] for line in lines}
    assert {f"{name} ({each.annotation})" for name, each in model.model_fields.items()} <= described


def test_days_are_dates() -> None:
    row = SummaryRow.model_validate(ROW)
    assert row.date == row["date"] == DAY
    assert {DAY: "known"}[row.date] == "known"
    event = Event.model_validate_json('{"event_date": "2026-01-15"}')
    assert event.event_date == DAY
    summary = Summary.model_validate(SUMMARY)
    assert (summary.start_date, summary.end_date) == (DAY, None)


@pytest.mark.parametrize(
    "sent",
    ["2026-02-30", "20260115", "2026-01-15T00:00:00Z", "soon", " 2026-01-15", 20260115, "", [DAY]],
)
def test_what_is_no_day_stays_as_sent(sent: Any) -> None:
    row = SummaryRow.model_validate({"date": sent})
    assert row["date"] == sent
    assert row.model_dump(exclude_unset=True) == {"date": sent}


@pytest.mark.parametrize("day", [DAY, datetime(2026, 1, 15, tzinfo=UTC), 0])
def test_a_day_given_by_code_stays_what_it_is(day: Any) -> None:
    assert type(SummaryRow.model_validate({"date": day}).date) is type(day)


@pytest.mark.parametrize(
    ("sent", "time"),
    [
        ("2026-01-15T10:11:12.130Z", datetime(2026, 1, 15, 10, 11, 12, 130_000, UTC)),
        ("2026-01-15T10:11:12.130456789Z", datetime(2026, 1, 15, 10, 11, 12, 130_456, UTC)),
        ("2026-01-15T01:00:00+02:00", datetime(2026, 1, 14, 23, tzinfo=UTC)),
        ("2026-01-15 10:11:12", datetime(2026, 1, 15, 10, 11, 12, tzinfo=UTC)),
        ("0001-01-01T00:00:00+02:00", None),
        ("soon", None),
        (1768471872, datetime(2026, 1, 15, 10, 11, 12, tzinfo=UTC)),
        (2026011510, None),
        (None, None),
    ],
)
def test_times_are_aware_beside_the_text_as_sent(sent: Any, time: datetime | None) -> None:
    event = Event.model_validate({"event_time": sent, "received_at": sent})
    assert (event.time, event.received) == (time, time)
    assert event.event_time == event["event_time"] == sent
    assert json.loads(event.model_dump_json(exclude_unset=True))["event_time"] == sent


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (
            Event.model_validate(
                {"country": "DE", "os": None, "event_id": "e-1", "revenue": "0E-9", "new": {"a": 1}}
            ),
            "Event(event_id='e-1', revenue=0.000000000, country='DE', new={'a': 1})",
        ),
        (
            SummaryRow.model_validate({"date": "2026-01-15", "cost": Decimal("0E-9")}),
            "SummaryRow(date='2026-01-15', cost=0.000000000)",
        ),
        (
            Summary.model_validate(SUMMARY),
            "Summary(2 rows, group_by='day', start_date='2026-01-15', currency='USD')",
        ),
        (Summary(rows=[SummaryRow()]), "Summary(1 row)"),
        (
            ExportStatus(ExportPhase.DONE, "ready", "x-1", (ExportFile("u"),), row_count=5),
            "ExportStatus(done, status_text='ready', export_id='x-1', files=1, row_count=5)",
        ),
    ],
)
def test_reprs_are_short_and_zero_has_its_digits(thing: object, text: str) -> None:
    assert repr(thing) == str(thing) == text


def test_a_long_row_is_cut_to_two_lines() -> None:
    wide = Event.model_validate({f"field_{at}": "x" * at for at in range(100)})
    assert repr(wide).endswith(", ...)")
    assert len(repr(wide)) <= 200
    months = Client("http://x.example", api_key="k", partner="acme").events("2026-01-01", DAY).plan
    assert len(repr(months)) <= 200


def test_zero_has_its_digits_in_json_too() -> None:
    text = '{"revenue": 0.000000000, "cost": {"amount": 0.000000000}}'
    for kind in (Event, SummaryRow):
        model = kind.model_validate_json(text)
        assert "E-9" not in model.model_dump_json() + str(model.model_dump(mode="json"))
    summary = Summary.model_validate_json(f'{{"rows": [{text}], "totals": [0.000000000]}}')
    assert "E-9" not in summary.model_dump_json() + repr(summary)


@pytest.mark.skipif(
    tuple(map(int, VERSION.split(".")[:2])) < (2, 13),
    reason="earlier versions of pydantic write unknown fields by themselves",
)
def test_zero_has_its_digits_in_the_json_of_unknown_fields() -> None:
    event = Event.model_validate_json('{"new": [0.000000000]}')
    assert event.model_dump_json(exclude_unset=True) == '{"new":["0.000000000"]}'


def test_a_summary_becomes_a_table_with_exact_types() -> None:
    summary = Summary.model_validate({"rows": [ROW, {"revenue": "-1.5"}]})
    table = summary.to_arrow()
    assert table.column_names == [*SummaryRow.model_fields, "reach"]
    first, second = table.to_pylist()
    known = {name: first[name] for name in ROW}
    assert known == {**ROW, "date": DAY, "revenue": Decimal("0E-9")}
    assert (second["revenue"], second["date"]) == (Decimal("-1.5"), None)
    assert Summary().to_arrow().schema.field("date").type == "date32"


def test_a_summary_becomes_frames() -> None:
    summary = Summary.model_validate({"rows": [ROW]})
    frame = summary.to_pandas()
    assert (frame["date"][0], frame["revenue"].sum()) == (DAY, 0)
    assert summary.to_polars()["date"].to_list() == [DAY]


def test_a_day_in_another_form_makes_the_column_text() -> None:
    summary = Summary.model_validate({"rows": [{"date": "2026-1-5"}], "group_by": "day"})
    assert summary.to_pandas()["date"].tolist() == ["2026-1-5"]
    assert summary.to_pandas(dtypes="numpy")["date"].tolist() == ["2026-1-5"]


def test_a_summary_in_a_notebook_is_a_small_escaped_table() -> None:
    rows = [{**ROW, "date": f"2026-01-{at:02}"} for at in range(1, 32)]
    text = Summary.model_validate({**SUMMARY, "rows": rows})._repr_html_()
    assert text.count("<tr>") < 31
    assert "31 rows" in text
    assert "&lt;b&gt;Spring &amp; Co&lt;/b&gt;" in text
    assert "<b>" not in text
    assert "0.000000000" in text


def test_a_plan_in_a_notebook_is_a_small_table() -> None:
    with Client("http://x.example", api_key="k", partner="acme") as client:
        plan: Plan = client.events("2026-01-01", "2026-01-31").plan
    text = plan._repr_html_()
    assert len(text) < 1000
    assert "744" in text


def test_a_summary_row_joins_with_the_days(reference_variant: Any) -> None:
    days = reference_variant.call("dates")
    summary = reference_variant.call("summary", days[0], days[-1], group_by="day")
    assert [row.date for row in summary] == days
    assert summary.request_id not in repr(summary)
    event = next(iter(reference_variant.events(days[0], max_events=1)))
    assert event.event_date == days[0]
    assert event.time.date() == days[0]


@pytest.mark.parametrize("name", COLUMN_OF_TYPE.values())
def test_a_count_may_be_text(name: str) -> None:
    """Drivers of PostgreSQL write a bigint as text."""
    assert SummaryRow.model_validate({name: "12"})[name] == 12
    assert SummaryRow.model_validate_json(f'{{"{name}": "-9"}}')[name] == -9


@pytest.mark.parametrize("text", ["1.0", "1e3", "+1", "", "01", "-0", "1_0", "9" * 20])
def test_a_count_that_is_no_whole_number_stays_as_it_was_sent(text: str) -> None:
    assert SummaryRow.model_validate({"clicks": text})["clicks"] == text
