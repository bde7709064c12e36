"""Exact JSON, and rows cut out as text."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adanalytics_client._json import NotJson, dumps, parse
from adanalytics_client._lines import Lines
from adanalytics_client._outline import outline

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


def texts_of(lines: Lines) -> list[str]:
    return [lines[index] for index in range(len(lines))]


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


def test_rows_keep_their_own_text() -> None:
    found = outline(b'\xef\xbb\xbf {"data" : {"rows": [{"a":1.50,\n"b":[{"c":1E5}]} , {}]}}')
    assert found == {"data": {"rows": Lines.of(['{"a":1.50, "b":[{"c":1E5}]}', "{}"])}}


def test_a_mixed_list_is_read_as_values() -> None:
    assert outline(b'{"a":[{"b":1.5},3]}') == {"a": [{"b": Decimal("1.5")}, 3]}


def test_decimals_are_written_with_their_digits() -> None:
    value = {
        "b": [Decimal("1.50"), None, True],
        "a": {"é": Decimal("1E-9"), "big": Decimal("1E99")},
    }
    assert dumps(value) == '{"a":{"big":1E+99,"é":0.000000001},"b":[1.50,null,true]}'
