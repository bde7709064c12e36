"""Exact JSON and numbers, pages that stay the bytes that came, models of the user's own."""

import json
import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from tests.client.bench import Bench
from tests.client.raw_events import raw_rows
from tests.client.stand_in import Say

from adanalytics_client._events.query import each_row
from adanalytics_client._events.typed import Typed
from adanalytics_client._json.exact import (
    MOST_LEVELS,
    NotJson,
    csv_cells,
    json_text,
    parse,
    parse_text,
    utf8,
)
from adanalytics_client._json.raw import PART, RawRows, read_page
from adanalytics_client.errors import ProtocolError
from adanalytics_client.models import Event, Summary

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


def decoded(value: Any) -> Any:
    """A page with its events decoded again."""
    if isinstance(value, RawRows):
        return [json.loads(bytes(text), parse_float=Decimal) for text in value.texts]
    if isinstance(value, dict):
        return {key: decoded(each) for key, each in value.items()}
    return value


@settings(max_examples=100, deadline=None)
@given(value=VALUES, indent=st.none() | st.integers(0, 2), ascii_only=st.booleans())
def test_a_page_is_the_document(value: Any, indent: int | None, ascii_only: bool) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    found = read_page(body)
    assert decoded(found) == parse(body) == value
    assert all(b"\n" not in bytes(text) for text in texts_of(found))


def texts_of(value: Any) -> list[Any]:
    if isinstance(value, RawRows):
        return [*value.texts]
    inner = value.values() if isinstance(value, dict) else ()
    return [text for each in inner for text in texts_of(each)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[{",
        b'[{"a":1}',
        b'[{"a":1},]',
        b'[{"a":1} {"a":2}]',
        b'{"a":1,}',
        b'{"a" 1}',
        b"{'a':1}",
        b"[] x",
        b"\xff",
        b"NaN",
        b'[{"a":NaN}]',
        b'{"a":"\n"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 5000,
    ],
)
def test_what_is_not_json_is_refused_by_both_readers(body: bytes) -> None:
    for read in (parse, read_page):
        with pytest.raises(NotJson):
            read(body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[" * 100_000, "it is nested too deeply"),
        (b"9" * 5000, "it holds a number with too many digits"),
    ],
)
def test_what_is_wrong_is_told_in_words_about_the_body(body: bytes, message: str) -> None:
    for read in (parse, read_page):
        with pytest.raises(NotJson) as caught:
            read(body)
        assert str(caught.value) == message


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}"), ('[{"a":', "}]")])
def test_a_document_that_cannot_be_walked_is_none(opening: str, closing: str) -> None:
    """It does not depend on how deep the caller stands."""
    beside = "[1,{}]," * 300
    for levels in (40, 100, 400):
        text = f"[{beside}{opening * levels}0{closing * levels}]".encode()
        depth = 1 + levels * len(closing)
        if depth <= MOST_LEVELS:
            assert parse(text) == json.loads(text)
        else:
            with pytest.raises(NotJson, match="nested too deeply"):
                parse(text)


def test_rows_keep_their_own_text() -> None:
    found = read_page(b'\xef\xbb\xbf {"data" : {"rows": [{"a":1.50,\n"b":[{"c":1E5}]} , {}]}}')
    assert found["data"]["rows"].jsonl() == b'{"a":1.50, "b":[{"c":1E5}]}\n{}\n'


def page_of(*events: bytes) -> bytes:
    return b'{"events":[%b],"has_more":false}' % b",".join(events)


EVENT = b'{"event_id":"e%d","n":1.50,"key_values":{"a":"\\u00e9\xc3\xa9"},"x":[true,null]}'


@settings(max_examples=400, deadline=None)
@given(
    at=st.integers(0, 10**6),
    damage=st.sampled_from(["delete", "insert", "change"]),
    byte=st.integers(0, 255) | st.sampled_from([*b'{}[],:"\\0129.eE+-tfn \n']),
    spaced=st.booleans(),
)
def test_damage_that_python_refuses_is_refused(
    at: int, damage: str, byte: int, spaced: bool
) -> None:
    """One byte of a page is deleted, inserted or changed."""
    body = bytearray(page_of(*(EVENT % number for number in range(3))))
    if spaced:
        body = bytearray(json.dumps(json.loads(body), indent=1).encode())
    at %= len(body)
    body[at : at + (damage != "insert")] = b"" if damage == "delete" else bytes([byte])
    found, told = outcome(bytes(body))
    try:
        expected = json.loads(bytes(body), parse_float=Decimal, parse_constant=refuse)
    except ValueError:
        assert told
        return
    # Two things that Python reads are refused: a lone surrogate, and a name that comes twice
    # beside the events.
    assert found == expected if not told else ("surrogate" in told or "twice" in told)


def outcome(body: bytes) -> tuple[Any, str]:
    try:
        return decoded(read_page(body)), ""
    except (NotJson, ProtocolError) as error:
        return None, str(error)


def refuse(constant: str) -> None:
    raise ValueError(constant)


DAMAGES = [
    (b'"n":1.50', b'"n":tru'),
    (b'"n":1.50', b'"n":0.1.2'),
    (b'"n":1.50', b'"n":01'),
    (b'"n":1.50', b'"n":NaN'),
    (b'"n":1.50', b'"n":-Infinity'),
    (b'"n":1.50,', b'"n":1.50'),
    (b'"n":1.50,', b'"n":1.50,,'),
    (b'"x":[true,null]}', b'"x":[true,null],}'),
    (b"\\u00e9", b"\x01"),
    (b"\\u00e9", b"\n"),
    (b"\\u00e9", b"\\ud800"),
    (b"\\u00e9", b"\\udc00\\ud800"),
    (b"\\u00e9", b"\\x"),
    (b"\xc3\xa9", b"\xc3"),
    (b"\xc3\xa9", b"\xed\xa0\x80"),
    (b'"event_id":"', b'event_id":"'),
    (b"null]}", b"null]}}"),
    (b"null]}", b"null]"),
]


@pytest.mark.parametrize("number", [1, 5_001, 10_000])
@pytest.mark.parametrize(("good", "bad"), DAMAGES)
def test_an_event_that_is_not_json_is_refused(number: int, good: bytes, bad: bytes) -> None:
    events = [EVENT % each for each in range(10_000)]
    assert good in events[number - 1]
    events[number - 1] = events[number - 1].replace(good, bad)
    for body in (page_of(*events), b'{"links":[{"a":1}],"data":{"x":"[{","rows":[%b]}}'):
        with pytest.raises(NotJson):
            read_page(body.replace(b"%b", b",".join(events)))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'[{"a":1},{"a":2} {"a":3}]', "char 17"),
        (b'[{"a":1},{"a":"\xff"}]', "byte 15 is not UTF-8"),
        (b'[{"a":1},{"a":"\\ud800"}]', "it holds a lone surrogate escape"),
    ],
)
def test_a_fault_is_named(body: bytes, words: str) -> None:
    with pytest.raises(NotJson, match=words):
        read_page(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"events":[{"a":1}],"events":[{"a":2}]}',
        b'{"events":[{"a":1}],"events":[{"a":1}]}',
        b'{"events":[{"a":1}],"events":[]}',
        b'{"b":1, "events" : [{"a":1}],"\\u0065vents":[]}',
        b'{"events":1,"events":12}',
        b'{"data":{"events":[{"a":1}],"events":1}}',
        b'{"data":{"events":[{"a":1}]},"data":{"events":[{"a":1}]}}',
    ],
)
def test_names_around_the_events_come_once(body: bytes) -> None:
    with pytest.raises(ProtocolError, match=r'"(data|events|.u0065vents)" twice in one object'):
        read_page(body)


def test_the_last_of_two_members_of_an_event_counts() -> None:
    events = read_page(page_of(b'{"a":1,"a":2}'))["events"]
    assert events.rows() == [{"a": 2}]
    assert events.jsonl() == b'{"a":1,"a":2}\n'


def test_a_list_that_lies_too_deep_is_read_as_values() -> None:
    body = b'{"a":{"b":{"c":[{"id":1},{"id":2}]}}}'
    assert read_page(body) == json.loads(body)
    assert isinstance(read_page(body, 3)["a"]["b"]["c"], RawRows)


def test_parts_of_events_know_their_place() -> None:
    texts = [b'{"id":%d}' % at for at in range(2 * PART + 7)]
    events = raw_rows(texts)
    assert [(len(each), each.offset) for each in events.parts()] == [
        (PART, 0),
        (PART, PART),
        (7, 2 * PART),
    ]
    assert b"".join(part.jsonl() for part in events.parts()) == b"\n".join([*texts, b""])
    for most in (0, 1, PART, len(texts), len(texts) + 1):
        assert events.first(most).jsonl() == b"".join(b"%b\n" % each for each in texts[:most])
    kept = events.without([at < 3 or at == 5 for at in range(len(texts))])
    assert (kept.offset, kept.first(3).rows()) == (3, [{"id": 3}, {"id": 4}, {"id": 6}])
    assert raw_rows([]).array() == b"[]"


@pytest.mark.parametrize("number", ["1e99999999999999999999", "9" * 5000])
def test_a_number_that_python_cannot_hold_is_named(number: str) -> None:
    events = read_page(page_of(b'{"a":1}', b'{"a":%b}' % number.encode()))["events"]
    assert events.jsonl().endswith(b":%b}\n" % number.encode())
    with pytest.raises(ProtocolError, match="Event 2 of a page cannot be read: it holds a number"):
        events.rows()


def test_a_mixed_list_is_read_as_values() -> None:
    assert read_page(b'{"a":[{"b":1.5},3]}') == {"a": [{"b": Decimal("1.5")}, 3]}


def test_decimals_are_written_with_their_digits() -> None:
    value = {
        "b": [None, True, (Decimal("1.50"),)],
        "a": {"é": Decimal("1E-9"), "big": Decimal("1E99")},
    }
    text = '{"a":{"big":1E+99,"é":0.000000001},"b":[null,true,[1.50]]}'
    assert json_text(value, sort_keys=True) == text
    assert json_text({"b": Decimal("0E-9"), "a": [1]}) == '{"b":0.000000000,"a":[1]}'


@pytest.mark.parametrize(
    "value", [float("nan"), [Decimal(1), float("inf")], {"a": Decimal(1), "b": b""}, object()]
)
def test_what_json_has_not_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        json_text(value)


def test_cells_keep_digits_and_every_character() -> None:
    cells = csv_cells([None, "", True, 7, Decimal("0E-9"), {"b": ["\ud800"], "a": Decimal("1.0")}])
    assert cells == [None, "", "true", 7, "0.000000000", '{"a":1.0,"b":["\ud800"]}']
    assert utf8(str(cells[5])) == rb'{"a":1.0,"b":["\ud800"]}'


DAY = "2026-01-15"


def test_numbers_stay_exact(bench: Bench) -> None:
    body = b'{"events": [{"a": 0.10, "b": 1e-9, "c": "1.50", "d": 9007199254740993}], "total": 1}'
    bench.says(Say(body))
    (row,) = bench.rows(DAY, split="none")
    assert row == {"a": Decimal("0.10"), "b": Decimal("1E-9"), "c": "1.50", "d": 9007199254740993}
    assert str(row["a"]) == "0.10"
    assert not any(isinstance(value, float) for value in row.values())


def test_whole_amounts_are_decimal_too(bench: Bench) -> None:
    bench.says(Say({"events": [{"revenue": 5, "cost": None, "campaign_id": 5}], "total": 1}))
    (row,) = bench.rows(DAY, split="none")
    assert {key: type(value) for key, value in row.items()} == {
        "revenue": Decimal,
        "cost": type(None),
        "campaign_id": int,
    }


def test_events_are_open_models(bench: Bench) -> None:
    sent = {"revenue": "0.000000000", "event_type": "hologram", "campaign_id": "x", "new": [1]}
    bench.says(Say({"events": [sent], "total": 1}))
    (event,) = bench.events(DAY, split="none")
    assert event.revenue == Decimal("0.000000000")
    assert (event.event_type, event.campaign_id, event["new"]) == ("hologram", "x", [1])
    assert event.model_dump(mode="json", exclude_unset=True) == sent


def test_model_takes_the_users_own(bench: Bench) -> None:
    class Mine(BaseModel):
        event_id: str

    bench.says(Say({"events": [{"event_id": "e0"}], "total": 1}))
    (event,) = bench.events(DAY, split="none", model=Mine)
    assert event == Mine(event_id="e0")


EVENTS: Typed[Event] = Typed.of(None)
NUMBERS = st.sampled_from(["0.10", "1e-9", "5", "-0.000000001", "12345678901234567890", "1E400"])
WORDS = st.sampled_from(['"0.10"', '"x"', '"NaN"', "null", "true", "[]", '"é"'])
SCALARS = NUMBERS | WORDS
COLUMNS = (
    SCALARS
    | st.builds(lambda each: f"[{each}]", SCALARS)
    | st.builds(lambda each: f'{{"k":{each}}}', SCALARS)
)
FIELDS = st.sampled_from(["revenue", "cost", "campaign_id", "is_filtered", "key_values", "new"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.tuples(FIELDS, COLUMNS), max_size=4), min_size=1, max_size=3))
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
