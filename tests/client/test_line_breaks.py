"""The loop over all objects of a page does the same in C and in Python."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adanalytics_client._line_breaks import break_lines, in_python

needs_compiler = pytest.mark.skipif(
    break_lines is in_python, reason="the module in C was not compiled: there was no C compiler"
)
END = b'}},{"id":'


@needs_compiler
@given(
    pieces=st.lists(
        st.sampled_from([b"}", b"}}", b",", b"{", b'{"id":', END, b"}," + END[3:], b"1", b"\x80"])
    ),
    at=st.integers(0, 6),
    end=st.sampled_from([END, b"}," + END[3:], b"},"]),
    most=st.integers(0, 4),
)
@example(pieces=[b"1", END, b"2", END, b"3}}]"], at=0, end=END, most=9)
@example(pieces=[b"1", END[:-1]], at=0, end=END, most=9)
def test_both_do_the_same(pieces: list[bytes], at: int, end: bytes, most: int) -> None:
    text = b"".join(pieces)
    at, comma = min(at, len(text)), max(end.find(b","), 0)
    one, other = bytearray(text), bytearray(text)
    assert break_lines(one, at, end, comma, most) == in_python(other, at, end, comma, most)
    assert one == other


@needs_compiler
@pytest.mark.parametrize(
    ("at", "comma"), [(-1, 1), (4, 1), (10**30, 1), (0, -1), (0, 2), (0, 10**9)]
)
def test_no_place_outside_of_the_text_is_touched(at: int, comma: int) -> None:
    text = bytearray(b"},}")
    with pytest.raises((ValueError, OverflowError)):
        break_lines(text, at, b"},", comma, 1)
    assert text == b"},}"


@needs_compiler
@pytest.mark.parametrize("text", [b"},", "},", None, memoryview(b"},")])
def test_nothing_else_is_changed(text: object) -> None:
    change: object = break_lines
    assert callable(change)
    with pytest.raises(TypeError):
        change(text, 0, b"},", 1, 1)


def test_it_works_uncompiled() -> None:
    program = (
        "import sys; sys.modules['adanalytics_client._speedups'] = None\n"
        "from adanalytics_client import _line_breaks\n"
        "assert _line_breaks.break_lines is _line_breaks.in_python\n"
        "from adanalytics_client._borders import cut_apart\n"
        'lines, around = cut_apart(bytearray(b\'[{"id":1},{"id":2}]\'))\n'
        'assert lines.jsonl() == b\'{"id":1}\\n{"id":2}\\n\'\n'
    )
    subprocess.run([sys.executable, "-c", program], check=True)
