"""A page's objects, cut apart piece by piece as they arrived, without reading them.

Borders are counted instead of proven one by one. What is cut at is `},{` with the name of the first
object's first member and a colon. In valid JSON that cannot lie in a string: its quotation mark
would end that string, and no name can follow. So it is a border between two objects of a list; and
where a document has one opening bracket in all, also in its strings, of its only list.

That there is no other border shows in one of two ways. Where as many objects came as a page may
have, there is no room for one: here the service is taken at its word to give no more than it was
asked for. Else, with everything but its `{}`, `,` and `:` left out, the document has `,{` once for
each border that was found, and another border would be one more.
"""

import re
from collections.abc import Sequence

from adanalytics_client._json import DECODER, text_of
from adanalytics_client._lines import CHUNK, Lines

_FIRST_MEMBER = re.compile(rb'\{"[A-Za-z_][A-Za-z0-9_]*":')
_NO_STRUCTURE = bytes(set(range(256)) - set(b"{},:"))
# What is left over of a piece goes in front of the next one, which must not grow into much work.
_LARGEST_OBJECT = 1_000_000
_PROBES = 16


def cut_apart(pieces: Sequence[bytes], most: int | None) -> tuple[Lines, bytes] | None:
    """The objects of the one list of a document, and the document with one `{}` in their place.

    That the objects are valid JSON shows when they are read; the last is read here, and a few that
    are spread over the others.

    Args:
        pieces: the document.
        most: how many objects its list has at most, where that was asked for; it is not checked.

    Returns:
        None where cutting would take a guess.

    Raises:
        ValueError, IndexError, RecursionError: for what is not JSON; see `refusing`.

    Example:
        >>> lines, around = cut_apart([b'{"rows":[{"id":1},{"i', b'd":2}]}'], most=None)
        >>> lines.jsonl(), around
        (b'{"id":1}\\n{"id":2}\\n', b'{"rows":[{}]}')
    """
    opening = pieces[0].find(b"[") if pieces else -1
    first = _FIRST_MEMBER.match(pieces[0], opening + 1) if opening >= 0 else None
    if first is None or not _is_plain(pieces, opening):
        return None
    if not all(map(bytes.isascii, pieces)):
        text_of(b"".join(pieces))
    found = _chunks([pieces[0][first.end() :], *pieces[1:]], first[0])
    if found is None:
        return None
    chunks, counts, probes = found
    text = probes.pop().decode()
    _, end = DECODER.raw_decode(text)
    if text[end] != "]":
        return None
    if not counts or counts[-1] == CHUNK:
        chunks.append(b"")
        counts.append(0)
    chunks[-1] += text[:end].encode() + b"\n"
    counts[-1] += 1
    lines = Lines(chunks, counts)
    if len(lines) != most and len(lines) != _elements(pieces):
        return None
    for each in probes[:: len(probes) // _PROBES + 1]:
        DECODER.decode(each.decode())
    return lines, pieces[0][: opening + 1] + b"{}" + text[end:].encode()


def _is_plain(pieces: Sequence[bytes], opening: int) -> bool:
    """Whether there is one bracket and no line break in it, which `in` sees faster than `count`."""
    if b"[" in pieces[0][opening + 1 :] or any(b"[" in each for each in pieces[1:]):
        return False
    return not any(b"\n" in each or b"\r" in each for each in pieces)


def _chunks(
    pieces: Sequence[bytes], name: bytes
) -> tuple[list[bytes], list[int], list[bytes]] | None:
    """Lines of all objects but the last, how many in each chunk, and some objects to read.

    The last of these is what begins with the last object.

    Args:
        pieces: the document from behind the first object's first name.
        name: what every object begins with.
    """
    border, seam = b"}," + name, b"}\n" + name
    chunks: list[bytes] = []
    counts: list[int] = []
    probes: list[bytes] = []
    left = b""
    for piece in pieces:
        objects = piece.split(border)
        # A border may lie across two pieces.
        objects[:1] = (left + objects[0]).split(border)
        left = objects.pop()
        if len(left) > _LARGEST_OBJECT:
            return None
        for start in range(0, len(objects), CHUNK):
            group = objects[start : start + CHUNK]
            probes.append(name + group[len(group) // 2] + b"}")
            counts.append(len(group))
            group[0] = name + group[0]
            group[-1] += b"}\n"
            chunks.append(seam.join(group))
    return chunks, counts, [*probes, name + left]


def _elements(pieces: Sequence[bytes]) -> int:
    """How many objects a document's lists have in all, if its braces and commas mean that."""
    return 1 + b"".join([each.translate(None, _NO_STRUCTURE) for each in pieces]).count(b",{")
