"""Exact JSON, and pages whose events stay the bytes that came."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.raw_events import raw_rows

from adanalytics_client._json.exact import MOST_LEVELS, NotJson, csv_cells, json_text, parse, utf8
from adanalytics_client._json.raw import PART, RawRows, read_page
from adanalytics_client.errors import ProtocolError

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
