"""What becomes of the values of events: exact numbers, open models, models of the user's own."""

import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from tests.client.raw_events import raw_rows
from tests.client.stand_in import Say, StandIn
from tests.client.variants import Variant

from adanalytics_client._events.query import each_row
from adanalytics_client._events.typed import Typed
from adanalytics_client._json.exact import parse_text
from adanalytics_client._json.raw import PART
from adanalytics_client.models import Event, Summary

DAY = "2026-01-15"


def test_numbers_stay_exact(variant: Variant, stand_in: StandIn) -> None:
    body = b'{"events": [{"a": 0.10, "b": 1e-9, "c": "1.50", "d": 9007199254740993}], "total": 1}'
    stand_in.says(Say(body))
    (row,) = variant.rows(DAY, split="none")
    assert row == {"a": Decimal("0.10"), "b": Decimal("1E-9"), "c": "1.50", "d": 9007199254740993}
    assert str(row["a"]) == "0.10"
    assert not any(isinstance(value, float) for value in row.values())


def test_whole_amounts_are_decimal_too(variant: Variant, stand_in: StandIn) -> None:
    stand_in.says(Say({"events": [{"revenue": 5, "cost": None, "campaign_id": 5}], "total": 1}))
    (row,) = variant.rows(DAY, split="none")
    assert {key: type(value) for key, value in row.items()} == {
        "revenue": Decimal,
        "cost": type(None),
        "campaign_id": int,
    }


def test_events_are_open_models(variant: Variant, stand_in: StandIn) -> None:
    sent = {"revenue": "0.000000000", "event_type": "hologram", "campaign_id": "x", "new": [1]}
    stand_in.says(Say({"events": [sent], "total": 1}))
    (event,) = variant.events(DAY, split="none")
    assert event.revenue == Decimal("0.000000000")
    assert (event.event_type, event.campaign_id, event["new"]) == ("hologram", "x", [1])
    assert event.model_dump(mode="json", exclude_unset=True) == sent


def test_model_takes_the_users_own(variant: Variant, stand_in: StandIn) -> None:
    class Mine(BaseModel):
        event_id: str

    stand_in.says(Say({"events": [{"event_id": "e0"}], "total": 1}))
    (event,) = variant.events(DAY, split="none", model=Mine)
    assert event == Mine(event_id="e0")


EVENTS: Typed[Event] = Typed.of(None)
NUMBERS = st.sampled_from(["0.10", "1e-9", "5", "-0.000000001", "12345678901234567890", "1E400"])
WORDS = st.sampled_from(['"0.10"', '"x"', '"NaN"', "null", "true", "[]", '"é"'])
SCALARS = NUMBERS | WORDS
VALUES = (
    SCALARS
    | st.builds(lambda each: f"[{each}]", SCALARS)
    | st.builds(lambda each: f'{{"k":{each}}}', SCALARS)
)
FIELDS = st.sampled_from(["revenue", "cost", "campaign_id", "is_filtered", "key_values", "new"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.tuples(FIELDS, VALUES), max_size=4), min_size=1, max_size=3))
def test_events_read_in_one_go_are_those_read_number_by_number(
    rows: list[list[tuple[str, str]]],
) -> None:
    """Duplicate names, half characters, long digits: the quick way gives the same or gives up."""
    texts = ["{" + ",".join(f'"{name}":{value}' for name, value in row) + "}" for row in rows]
    page = raw_rows(map(str.encode, texts))
    events = list(EVENTS.read(page))
    careful = EVENTS.adapter.validate_python(page.rows())
    assert [list(map(repr, each)) for each in events] == [list(map(repr, each)) for each in careful]
    assert all("float" not in str(type(value)) for each in events for _, value in each)


OF_TYPES = {
    "event_id": ['"x"', '"é"', '"\\u00e9\\n"', "5"],
    "event_date": ['"2026-01-15"', '"2026-1-15"', '"0000-01-01"', '"2026-01-15T00:00:00Z"'],
    "revenue": ['"0.10"', "0.10", "5", "-0", "-0.0", "1E400", '"1e-9"', '"NaN"', '"-Infinity"'],
    "cost": [
        '"0"',
        '" 1"',
        '"1_000"',
        '"+5"',
        '"' + "9" * 50 + '"',
        '"x"',
        '"sNaN"',
        '"1e99999999999"',
    ],
    "campaign_id": ["5", "-0", "1.0", "1e2", "1" * 30, '"5"'],
    "is_filtered": ["true", "false", "0", '"true"'],
    "key_values": ["{}", '{"a":"b"}', '{"a":1.50}', '{"a":null}', '{"a":"b","a":"c"}'],
}


@settings(max_examples=80, deadline=None)
@given(st.data(), st.lists(st.sampled_from([*OF_TYPES]), unique=True, max_size=7))
def test_events_with_the_same_fields_are_those_that_pydantic_makes(
    data: st.DataObject, names: list[str]
) -> None:
    """The attributes and their order, the fields that were sent, and what a change does to them."""
    texts = []
    for _ in range(data.draw(st.integers(1, 3))):
        members = [
            f'"{name}":{data.draw(st.sampled_from([*OF_TYPES[name][:2], *OF_TYPES[name], "null"]))}'
            for name in data.draw(st.permutations(names))
        ]
        texts.append(f"{{{','.join(members)}}}".encode())
    page = raw_rows(texts)
    events, careful = [*EVENTS.read(page)], EVENTS.adapter.validate_python(page.rows())
    for event, other in zip(events, careful, strict=True):
        assert repr(vars(event)) == repr(vars(other))
        assert event.model_fields_set == other.model_fields_set
        assert pickle.loads(pickle.dumps(event)) == other
    events[0].os = careful[0].os = "ios"
    assert events == careful


def test_events_are_decoded_some_at_a_time() -> None:
    texts = [b'{"event_id":"%d","revenue":%d.5}' % (at, at) for at in range(2_500)]
    events = raw_rows(texts)
    assert [len(each) for each in events.parts()] == [PART] * (2_500 // PART)
    assert [each.offset for each in events.first(PART + 1).parts()] == [0, PART]
    assert list(each_row(events)) == events.rows()
    names = [each.event_id for each in EVENTS.read(events.first(1_100))]
    assert names == [str(each) for each in range(1_100)]


@pytest.mark.parametrize("kind", [str, str.encode, lambda text: bytearray(text, "utf-8")])
def test_a_model_of_a_text_has_its_very_digits(kind: Any) -> None:
    digits = "0.10000000000000000000010"
    text = f'{{"revenue": {digits}, "cost": 1e400, "new": [{{"x": {digits}}}], "campaign_id": 7}}'
    event = Event.model_validate_json(kind(text))
    assert (str(event.revenue), event.cost) == (digits, Decimal("1e400"))
    assert str(event["new"][0]["x"]) == digits
    assert event == Event.model_validate(parse_text(text))
    assert Event.model_validate_json(event.model_dump_json(include={"revenue"})).revenue
    row = Summary.model_validate_json(kind(f'{{"rows": [{text}], "totals": {text}}}'))
    assert row.totals is not None
    assert [str(row.rows[0].revenue), str(row.totals.revenue)] == [digits, digits]


@pytest.mark.parametrize("text", ["", "{", '{"revenue": NaN}', "[]", "5", b"\xff", "{} {}"])
def test_a_text_that_is_no_model_is_refused_as_by_pydantic(text: Any) -> None:
    with pytest.raises(ValidationError, match="1 validation error for Event"):
        Event.model_validate_json(text)
