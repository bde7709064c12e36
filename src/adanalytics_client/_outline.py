"""Documents in which lists of objects stay text, cut at places that are proven to be borders.

The objects of a page are looked at once, brace by brace, and only the few that a brace does not
explain are read. That every character of every object is valid JSON shows when they are read; the
first, the last and some between them are read here.
"""

import re

from adanalytics_client._borders import cut_apart
from adanalytics_client._json import DECODER, Json, NotJson, refusing, text_of
from adanalytics_client._lines import Lines
from adanalytics_client.errors import ProtocolError

LEVELS = 2
"""How many objects are around a list of objects whose place nobody told, at most."""

_SPACE = re.compile(r"[ \t\n\r]*")
_FIRST_MEMBER = re.compile(r'\{"[A-Za-z_][A-Za-z0-9_]*":')
_PROBES = 16


def outline(body: bytes | bytearray, levels: int = LEVELS) -> Json:
    """Read a document like `parse`, but leave lists of objects as `Lines`.

    Args:
        body: the document. A bytearray is taken over: lines lie in it.
        levels: how many objects, one in the other, may be around such a list.

    A raw line break inside valid JSON can only be space between tokens (RFC 8259, sections 2 and
    7), so replacing it keeps the text's meaning to the last digit.

    Raises:
        NotJson: for anything else than one document in UTF-8; of invalid JSON inside the objects
            of a list only what gets in the way of cutting it is noticed.
        ProtocolError: when an object has two such lists under one name.

    Example:
        >>> outline(b'{"events": [{"revenue": 1.50}]}')["events"].array()
        b'[{"revenue": 1.50}]'
    """
    own = body if isinstance(body, bytearray) else bytearray(body)
    with refusing():
        if (found := cut_apart(own)) is not None:
            lines, around = found
            if (planted := _planted(outline(around, levels), lines, levels)) is not None:
                return planted
            # It is the list of no page after all: its commas and its bracket come back.
            own[lines.marks[0] : lines.marks[-1]] = lines.array()[1:]
        text = text_of(own)
        value, end = _outline(text, _skip(text, 0), levels)
        if _skip(text, end) != len(text):
            raise NotJson(f"more text follows at character {end}")
        return value


def _planted(value: Json, lines: Lines, depth: int) -> Json:
    """A document with `lines` in place of its one list of objects.

    None where there is none to replace: it lies too deep, or its name came again with another
    value, which is the one that counts.
    """
    if isinstance(value, Lines):
        return lines
    if isinstance(value, dict) and depth:
        for name, each in value.items():
            if (planted := _planted(each, lines, depth - 1)) is not None:
                return {**value, name: planted}
    return None


def _skip(text: str, index: int) -> int:
    found = _SPACE.match(text, index)
    return found.end() if found else index


def _outline(text: str, index: int, depth: int) -> tuple[Json, int]:
    opening = text[index : index + 1]
    if opening == "{" and depth:
        return _outline_object(text, index, depth)
    if opening == "[" and text[_skip(text, index + 1)] == "{":
        return _cut_at_borders(text, index) or _cut(text, index)
    return DECODER.raw_decode(text, index)


def _outline_object(text: str, index: int, depth: int) -> tuple[dict[str, Json], int]:
    members: dict[str, Json] = {}
    index = _skip(text, index + 1)
    if text[index] == "}":
        return members, index + 1
    while True:
        if text[index] != '"':
            raise NotJson(f"a name is missing at character {index}")
        name, index = DECODER.raw_decode(text, index)
        index = _expect(text, index, ":")
        value, index = _outline(text, index, depth - 1)
        if name in members and _are_rivals(members[name], value):
            raise ProtocolError(
                f"The answer names {name!r} twice in one object, each time with a list, so that "
                "the events of one of them would be lost. Report it to the service."
            )
        members[name] = value
        index = _skip(text, index)
        if text[index] == "}":
            return members, index + 1
        index = _expect(text, index, ",")


def _are_rivals(value: Json, other: Json) -> bool:
    """Whether two values of one name may both be the list of a page, or both be around one."""
    both = (value, other)
    if isinstance(value, dict) and isinstance(other, dict):
        return all(any(isinstance(one, Lines) for one in each.values()) for each in both)
    some = any(isinstance(each, Lines) for each in both)
    return some and all(isinstance(each, Lines) or each == [] for each in both)


def _cut_at_borders(text: str, index: int) -> tuple[Lines, int] | None:
    """Cut a list without reading its objects, or None where that would take a guess.

    A border is `},{` followed by the name of the first object's first member. In valid JSON it
    cannot lie in a string: its quotation mark would end that string, and no name can follow. So it
    is a border between two objects of a list; and of this one, since a list inside an object is
    noticed by its first brace, which has no object before it. Every brace is looked at. One after
    a colon begins no element. For any other brace that is no border, such as one in a string, the
    object that it is in, or that ended before it, is read to its end.
    """
    first = _FIRST_MEMBER.match(text, index + 1)
    if first is None:
        return None
    border, find, begins = f"}},{first[0]}", text.find, text.startswith
    start, brace = index + 1, index + 1
    ends: list[int] = []
    while (brace := find("{", brace + 1)) >= 0:
        if text[brace - 1] == ":":
            continue
        if not begins(border, brace - 2):
            _, end = DECODER.raw_decode(text, start)
            if end > brace:
                brace = end - 1
                continue
            break
        ends.append(brace - 1)
        start = brace
    _, end = DECODER.raw_decode(text, start)
    if text[end] != "]":
        return None
    if _has_line_break(text, index, end):
        return None
    spans = zip([index + 1, *(each + 1 for each in ends)], [*ends, end], strict=True)
    if text.isascii():
        # This list only, since a document may have many.
        raw = text[index:end].encode()
        texts = [raw[begin - index : behind - index] for begin, behind in spans]
    else:
        texts = [text[begin:behind].encode() for begin, behind in spans]
    for each in texts[:: len(texts) // _PROBES + 1]:
        DECODER.decode(each.decode())
    return Lines.of(texts), end + 1


def _cut(text: str, index: int) -> tuple[Json, int]:
    """Cut the elements of a list out; a list that is not only objects is read as values."""
    scan, start = DECODER.raw_decode, index
    texts: list[str] = []
    index = _skip(text, index + 1)
    while True:
        if text[index] != "{":
            return scan(text, start)
        _, end = scan(text, index)
        texts.append(text[index:end])
        index = end if text[end] in ",]" else _skip(text, end)
        if text[index] == "]":
            return Lines.of([_one_line(each).encode() for each in texts]), index + 1
        index = _expect(text, index, ",")


def _has_line_break(text: str, start: int, end: int) -> bool:
    return text.find("\n", start, end) >= 0 or text.find("\r", start, end) >= 0


def _one_line(text: str) -> str:
    if _has_line_break(text, 0, len(text)):
        return text.replace("\n", " ").replace("\r", " ")
    return text


def _expect(text: str, index: int, mark: str) -> int:
    index = _skip(text, index)
    if text[index] != mark:
        raise NotJson(f"{mark!r} is missing at character {index}")
    return _skip(text, index + 1)
