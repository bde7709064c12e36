"""Exact JSON, and rows cut out as text."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adanalytics_client import _outline
from adanalytics_client._body import Body
from adanalytics_client._borders import cut_apart
from adanalytics_client._json import DEEPEST, NotJson, parse
from adanalytics_client._lines import CHUNK, Lines
from adanalytics_client._outline import outline
from adanalytics_client.encoding import csv_cells, json_text, utf8

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


def texts_of(lines: Lines) -> list[str]:
    return list(lines)


def whole(value: Any) -> Any:
    """An outline with its texts read again."""
    if isinstance(value, Lines):
        return [json.loads(text, parse_float=Decimal) for text in texts_of(value)]
    if isinstance(value, dict):
        return {key: whole(each) for key, each in value.items()}
    return value


@settings(max_examples=100, deadline=None)
@given(value=VALUES, indent=st.none() | st.integers(0, 2), ascii_only=st.booleans())
def test_an_outline_is_the_document(value: Any, indent: int | None, ascii_only: bool) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    found = outline(body)
    assert whole(found) == parse(body) == value
    for text in _texts(found):
        assert "\n" not in text


def _texts(value: Any) -> list[str]:
    if isinstance(value, Lines):
        return texts_of(value)
    return (
        [text for each in value.values() for text in _texts(each)]
        if isinstance(value, dict)
        else []
    )


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
    for read in (parse, outline):
        with pytest.raises(NotJson):
            read(body)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"[" * 100_000, "it is nested too deeply"),
        (b"9" * 5000, "it holds a number of too many digits"),
    ],
)
def test_what_is_wrong_is_told_in_words_about_the_body(body: bytes, told: str) -> None:
    for read in (parse, outline):
        with pytest.raises(NotJson) as caught:
            read(body)
        assert str(caught.value) == told


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}"), ('[{"a":', "}]")])
def test_a_document_that_cannot_be_walked_is_none(opening: str, closing: str) -> None:
    """It does not depend on how deep the caller stands."""
    beside = "[1,{}]," * 300
    for levels in (40, 100, 400):
        text = f"[{beside}{opening * levels}0{closing * levels}]".encode()
        depth = 1 + levels * len(closing)
        if depth <= DEEPEST:
            assert parse(text) == json.loads(text)
        else:
            with pytest.raises(NotJson, match="nested too deeply"):
                parse(text)


def test_rows_keep_their_own_text() -> None:
    found = outline(b'\xef\xbb\xbf {"data" : {"rows": [{"a":1.50,\n"b":[{"c":1E5}]} , {}]}}')
    assert found == {"data": {"rows": Lines.of([b'{"a":1.50, "b":[{"c":1E5}]}', b"{}"])}}


TRICKY = st.sampled_from(
    [
        '},{"a":',
        '"},{"',
        "{",
        "[{",
        "]",
        "\\",
        '\\"',
        "}",
        ":{",
        ',{"a":1}',
        "\n",
        "é",
        "\ud800",
        "{{x}}",
    ]
)
SCALARS = (
    st.none() | st.booleans() | st.integers() | TRICKY | st.lists(TRICKY, max_size=3).map("".join)
)
MEMBERS = st.sampled_from(["a", "b", "}", ",", ":", "", "a b"])
OBJECTS = st.dictionaries(
    MEMBERS,
    SCALARS
    | st.lists(SCALARS | st.dictionaries(MEMBERS, SCALARS, max_size=2), max_size=3)
    | st.dictionaries(MEMBERS, SCALARS | st.lists(st.just({"a": 1}), max_size=3), max_size=2),
    max_size=3,
)
INNER: st.SearchStrategy[Any] = st.dictionaries(MEMBERS, SCALARS | st.just({}), max_size=1)
RAW = st.sampled_from(
    [
        '{"a":1E400}',
        '{"a":0.10,"a":{}}',
        '{ "a":1}',
        '{"a":1,\n"b":2}',
        "{}",
        '{"a":[{"a":1},{"a":2}]}',
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(
        st.one_of(
            OBJECTS,
            st.builds(lambda each: {"a": 1} | each, OBJECTS),
            st.builds(lambda each, last: {"a": 1} | each | {"z": last}, OBJECTS, INNER),
        ),
        max_size=5,
    ),
    raw=st.lists(RAW, max_size=3),
    compact=st.booleans(),
    ascii_only=st.booleans(),
    beside=OBJECTS,
    before=st.booleans(),
    mark=st.booleans(),
    behind=st.sampled_from(["", "\n", " \r\n"]),
    size=st.integers(1, 60),
    told=st.none() | st.integers(0, 400),
)
def test_borders_are_where_a_careful_reader_cuts(
    rows: list[Any],
    raw: list[str],
    compact: bool,
    ascii_only: bool,
    beside: Any,
    before: bool,
    mark: bool,
    behind: str,
    size: int,
    told: int | None,
) -> None:
    """What is cut without reading the objects is byte for byte what reading each of them gives."""
    separators = (",", ":") if compact else (", ", ": ")
    write = partial(json.dumps, separators=separators, ensure_ascii=ascii_only)
    texts = [*map(write, rows), *raw]
    around = write({"beside": beside, "also": [beside, {"a": {}}]})
    page = f'"rows":[{separators[0].join(texts)}]'
    page = f"{{{page},{around[1:]}" if before else f"{around[:-1]},{page}}}"
    body = (b"\xef\xbb\xbf" if mark else b"") + (page + behind).encode("utf-8", "surrogatepass")
    try:
        found = outline(body)
    except NotJson:
        with pytest.raises(NotJson):
            parse(body)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_outline, "cut_apart", lambda *_: None)
        walked = outline(body)
    assert exact(found) == exact(walked) == exact(careful(body))
    collected = Body(None, None if told is None else str(told))
    for at in range(0, len(body), size):
        collected.write(body[at : at + size])
    assert exact(outline(collected.finish())) == exact(found)


def careful(body: bytes) -> Any:
    """The outline of one that reads every object."""
    with pytest.MonkeyPatch.context() as patch:
        for quick in ("cut_apart", "_cut_at_borders"):
            patch.setattr(_outline, quick, lambda *_: None)
        return outline(body)


def exact(value: Any) -> Any:
    """An outline with its lists as the bytes that would be written."""
    if isinstance(value, Lines):
        lines, texts = value.jsonl(), texts_of(value)
        assert value.upto(1).jsonl() == lines.split(b"\n")[0] + b"\n" == (texts[0] + "\n").encode()
        assert len(value) == lines.count(b"\n") == len(value.rows())
        assert all(each in value for each in texts)
        return lines, value.array()
    return {key: exact(each) for key, each in value.items()} if isinstance(value, dict) else value


def test_borders_are_found_without_reading_every_object(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[dict[str, Any]] = [
        {"id": at, "pairs": {}, "note": "{" if at == 5 else ""} for at in range(2000)
    ]
    body = json.dumps({"events": rows, "meta": {"a": {"b": [{}]}}}, separators=(",", ":")).encode()
    monkeypatch.setattr(_outline, "_cut", None)
    monkeypatch.setattr(_outline, "cut_apart", lambda *_: None)
    found = outline(body)["events"]
    assert (len(found), list(found)[5], found.upto(3).rows()) == (
        2000,
        '{"id":5,"pairs":{},"note":"{"}',
        rows[:3],
    )


@pytest.mark.parametrize(
    "shape", ['{"n":{},"events":[%s],"x":{"y":7}}', "[%s]", '{"data":{"rows":[%s]}}']
)
@pytest.mark.parametrize("note", ["}:{é,", "},{ \\u007b}", ", {{x}}", ",é{"])
def test_an_object_needs_no_reading_to_be_told_apart(shape: str, note: str) -> None:
    row = f'{{"id":1,"note":"{note}","pairs":{{"id":1,"x":{{}}}}}}'
    texts = [row.replace("1", str(at)) for at in range(2000)]
    body = (shape % ",".join(texts)).encode()
    text = bytearray(body)
    found = cut_apart(text)
    if "},{" in note.replace(" ", ""):
        # It may be a border that looks otherwise: nothing is cut.
        assert found is None
        assert text == body
        return
    assert found is not None
    lines, around = found
    assert list(lines) == texts
    assert around == (shape % "{}").encode()


@pytest.mark.parametrize(
    "end", ["1", '{"a":{}}', '"}}"', '"}"', '"{}},{"', '{"id":{"id":{}}}', "[]"]
)
@pytest.mark.parametrize("place", range(4))
def test_an_object_may_end_as_no_other_does(end: str, place: int) -> None:
    """In braces more or fewer than the first has, or in a string that has some."""
    texts = ['{"id":1,"z":{}}', '{"id":2,"y":{},"z":{"id":3}}', '{"id":4,"y":{"id":5},"z":6}']
    texts.insert(place, f'{{"id":7,"z":{end}}}')
    body = f'{{"rows":[{",".join(texts)}],"z":{{}}}}'.encode()
    found = outline(body)
    assert list(found["rows"]) == texts
    assert exact(found) == exact(careful(body))


@pytest.mark.parametrize("count", [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 1])
def test_lines_that_were_cut_are_as_lines_of_texts(count: int) -> None:
    texts = [b'{"id":%d,"of":{"all":{}}}' % at for at in range(count)]
    found = cut_apart(bytearray(b'{"count":{},"rows":[%b]}\n' % b",".join(texts)))
    assert found is not None
    lines, made = found[0], Lines.of(texts)
    assert [*lines] == [*made] == [each.decode() for each in texts]
    assert [[*each] for each in lines.parts()] == [[*each] for each in made.parts()]
    assert [len(each) for each in lines.parts()] == [len(each) for each in made.parts()]
    assert b"".join(lines.excerpts()) == b"".join(made.excerpts())
    assert (lines.first, lines.last(40), lines.array()) == (made.first, made.last(40), made.array())
    for most in {1, count - 1 or 1, count, CHUNK}:
        assert lines.upto(most).jsonl() == made.upto(most).jsonl()


def test_the_parts_of_lines() -> None:
    texts = [f'{{"id":{at}}}' for at in range(2 * CHUNK + 7)]
    lines = Lines.of([*map(str.encode, texts)])
    assert [len(each) for each in lines.parts()] == [CHUNK, CHUNK, 7]
    assert [text for part in lines.parts() for text in part] == texts
    for most in (1, CHUNK - 1, CHUNK, CHUNK + 1, len(texts), len(texts) + 1):
        assert list(lines.upto(most)) == texts[:most]
        assert len(lines.upto(most)) == len(texts[:most])
        assert lines.last(most) == texts[-most:]
    assert texts[0] == lines.first
    assert '{"id":1}' in lines
    assert '"id":1}' not in lines
    assert '{"id":1' not in lines


def test_excerpts_are_of_the_lines_alone() -> None:
    texts = [b'{"id":%d,"note":"the same in all of them"}' % at for at in range(100, 900)]
    whole = Lines.of(texts)
    begin, *_, end = whole.marks
    within = Lines(b"xyz" + whole.jsonl() + b"xyz", [begin + 3, end + 3], len(texts))
    assert b"".join(within.excerpts()) == b"".join(whole.excerpts())
    other = Lines.of([each.replace(b'"id":', b'"id":1') for each in texts])
    assert set(other.excerpts()).isdisjoint(whole.excerpts())


@pytest.mark.parametrize(
    "odd", ['{"x":1}', '{"id":1},{"x":[]}', '{"id":1}, {"id":2}', '{"id":{"id":1}},{}', "null"]
)
def test_one_border_that_is_another_is_seen(odd: str) -> None:
    rows = ",".join(['{"id":1}'] * 5 + [odd] + ['{"id":1}'] * 5)
    body = b'{"events":[%b],"id":{"id":{}}}' % rows.encode()
    text = bytearray(body)
    assert cut_apart(text) is None
    assert text == body
    assert exact(outline(body)) == exact(careful(body))


@pytest.mark.parametrize("broken", ['{"a":NaN}', '{"a":1,}', "{'a':1}", '{"a" 1}'])
def test_what_is_wrong_in_every_object_is_noticed(broken: str) -> None:
    rows = ",".join(['{"a":1}', *[broken] * 98, '{"a":1}'])
    with pytest.raises(NotJson):
        outline(b'{"events":[%b]}' % rows.encode())


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":{"b":{"c":[{"id":1},{"id":2}]}}}',
        b'{"a":[{"id":1}],"a":5}',
        b'{"a":{"b":[{"id":1}]},"a":{"c":null}}',
        b'{"d":%b{}%b,"a":{"b":[{"id":1}]}}' % (b'{"d":' * 900, b"}" * 900),
    ],
)
def test_a_list_that_is_no_page_hides_nothing(body: bytes) -> None:
    """It lies too deep, its name comes again, or something very deep stands before it."""
    assert whole(outline(body)["a"]) == json.loads(body)["a"]


def test_a_mixed_list_is_read_as_values() -> None:
    assert outline(b'{"a":[{"b":1.5},3]}') == {"a": [{"b": Decimal("1.5")}, 3]}


def test_decimals_are_written_with_their_digits() -> None:
    value = {
        "b": [Decimal("1.50"), None, True],
        "a": {"é": Decimal("1E-9"), "big": Decimal("1E99")},
    }
    text = '{"a":{"big":1E+99,"é":0.000000001},"b":[1.50,null,true]}'
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
