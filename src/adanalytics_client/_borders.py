"""A page's objects, cut apart where they lie, without reading them.

What is cut at is `},{` with the name of the first object's first member and a colon. In valid JSON
that cannot lie in a string: its quotation mark would end that string, and no name can follow. So it
is a border between two objects of a list; and where a document has one opening bracket in all, also
in its strings, of its only list.

That there is no other border shows on the way from each to the next. Mostly the first `}` ends
whatever is open, with those that follow it at once, and a border follows: the object had ended
nowhere before. Else every `{` is looked at. One that follows a comma, with or without white space
between, is such a border, or nothing is cut; and no other begins an element of a list.
"""

import re
from itertools import pairwise

from adanalytics_client._json import DECODER, text_of
from adanalytics_client._line_breaks import break_lines
from adanalytics_client._lines import CHUNK, Lines

_FIRST_MEMBER = re.compile(rb'\{"[A-Za-z_][A-Za-z0-9_]*":')
_COMMA, _COLON, _LINE_BREAK = b",:\n"
_SPACES = b" \t\n\r"
_DEEPEST = 16
_PROBES = 16


def cut_apart(text: bytearray) -> tuple[Lines, bytes] | None:
    """The objects of the one list of a document, and the document with one `{}` in their place.

    That the objects are valid JSON shows when they are read; the last is read here, and a few that
    are spread over the others.

    Args:
        text: the document. The lines take it over: line breaks are written into it. Where it is
            not cut it is left as it was.

    Returns:
        None where cutting would take a guess.

    Raises:
        ValueError, IndexError, RecursionError: for what is not JSON; see `refusing`.

    Example:
        >>> lines, around = cut_apart(bytearray(b'{"rows":[{"id":1},{"id":2}]}'))
        >>> lines.jsonl(), around
        (b'{"id":1}\\n{"id":2}\\n', b'{"rows":[{}]}')
    """
    opening = text.find(b"[")
    first = _FIRST_MEMBER.match(text, opening + 1) if opening >= 0 else None
    closing = text.rfind(b"]")
    if first is None or not _is_plain(text, opening, closing):
        return None
    if not text.isascii():
        text_of(text)
    name, found = first[0], None
    try:
        found = _cut(text, opening + 1, closing, name)
    finally:
        if found is None:
            text[:] = text.replace(b"}\n" + name, b"}," + name)
    return found


def _is_plain(text: bytearray, opening: int, closing: int) -> bool:
    """Whether there is no other opening bracket, and no line break up to the last closing one."""
    if closing < 0 or text.find(b"[", opening + 1) >= 0:
        return False
    return all(text.find(each, opening, closing) < 0 for each in (b"\n", b"\r"))


def _cut(text: bytearray, begin: int, closing: int, name: bytes) -> tuple[Lines, bytes] | None:
    """Put a line break behind every object.

    Args:
        text: the document.
        begin: where its first object begins.
        closing: its last bracket; up to there it has no line breaks.
        name: what every object begins with.
    """
    found = _parted(text, begin, name)
    if found is None:
        return None
    marks, count = found
    last = text.rfind(b"\n", begin, closing) + 1 or begin
    rest = text[last:].decode()
    _, size = DECODER.raw_decode(rest)
    if rest[size] != "]":
        return None
    stretches = [*pairwise([*marks, last])]
    for start, behind in stretches[:: len(stretches) // _PROBES + 1]:
        if start < behind:
            DECODER.decode(_line_at(text, (start + behind) // 2, start).decode())
    around = text[:begin] + b"{}" + rest[size:].encode()
    end = last + len(rest[:size].encode())
    text[end] = _LINE_BREAK
    return Lines(text, [*marks, end + 1], count), bytes(around)


def _parted(text: bytearray, begin: int, name: bytes) -> tuple[list[int], int] | None:
    """Turn the commas between objects into line breaks, or give None on the way.

    Returns:
        Where the first object begins, and each one that `CHUNK` others precede since then; and how
        many objects there are.
    """
    border = b"}," + name
    usual = _usual_end(text, begin, border)
    step, comma = len(name), len(usual) - len(name) - 1
    marks, at, left = [begin], begin + step, CHUNK
    try:
        while True:
            at, done = break_lines(text, at, usual, comma, left)
            left -= done
            if left:
                at = _border_behind(text, at, border)
                if at < 0:
                    return None
                text[at - 1] = _LINE_BREAK
                at, left = at + step, left - 1
            if not left:
                marks.append(at - step)
                left = CHUNK
    except ValueError:
        return marks, len(marks) * CHUNK - left + 1


def _border_behind(text: bytearray, at: int, border: bytes) -> int:
    """The next object's opening brace, -1 where something may be another border.

    Args:
        text: the document.
        at: the first closing brace of an object, before which no other begins.
        border: what ends an object and begins the next one.

    Raises:
        ValueError: when no object follows.
    """
    index, begins = text.index, text.startswith
    at = index(b"{", at)
    while not begins(border, at - 2):
        if text[at - 1] != _COLON and _follows_comma(text, at):
            return -1
        at = index(b"{", at + 1)
    return at


def _usual_end(text: bytearray, begin: int, border: bytes) -> bytes:
    """The first closing brace with all up to the next object's first value, if that is there.

    What is there instead is no border, and then the least that one can be is as good.
    """
    end = text.find(b"}", begin)
    behind = text[end : end + _DEEPEST]
    closing = bytes(behind[: len(behind) - len(behind.lstrip(b"}"))]) + border[1:]
    return closing if text.startswith(closing, end) else border


def _follows_comma(text: bytearray, at: int) -> bool:
    at -= 1
    while text[at] in _SPACES:
        at -= 1
    return text[at] == _COMMA


def _line_at(text: bytearray, place: int, begin: int) -> bytearray:
    return text[text.rfind(b"\n", begin, place) + 1 or begin : text.find(b"\n", place)]
