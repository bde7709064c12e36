"""Rows as they are stored and served, joined with commas: cut apart, or turned into lines."""

from collections.abc import Iterable

# Between two events, and nowhere else: in a JSON string a quote has a backslash before it, and
# no field of an event is a list. The name of the first field makes it longer than it need be,
# which makes it faster to find.
BEGIN = b'{"event_id":"'
END = b"}"
_BETWEEN = b"}," + BEGIN


def split_rows(text: bytes) -> list[bytes]:
    """Cut joined rows apart.

    >>> split_rows(b'{"event_id":"a"},{"event_id":"b"}')
    [b'{"event_id":"a"}', b'{"event_id":"b"}']
    """
    inner = text.split(_BETWEEN)
    if len(inner) == 1:
        return inner if text else []
    rows = [b'{"event_id":"%b}' % row for row in inner]
    rows[0], rows[-1] = inner[0] + b"}", BEGIN + inner[-1]
    return rows


def count_rows(text: bytes) -> int:
    """Count joined rows, of which there is one at least."""
    return text.count(_BETWEEN) + 1


def some_rows(text: bytes, skip: int, take: int) -> bytes:
    """Return ``take`` of joined rows behind the first ``skip`` ones, still joined.

    >>> some_rows(b'{"event_id":"a"},{"event_id":"b"},{"event_id":"c"}', 1, 1)
    b'{"event_id":"b"}'
    """
    if skip:
        text = BEGIN + text.split(_BETWEEN, skip)[-1]
    behind = text.split(_BETWEEN, take)[take:]
    return text[: -len(_BETWEEN) - len(behind[0])] + END if behind else text


def split_pieces(pieces: Iterable[bytes]) -> list[bytes]:
    """Cut several texts of joined rows apart, in order."""
    return [row for piece in pieces for row in split_rows(piece)]


def as_lines(text: bytes) -> bytes:
    """Turn joined rows into lines; the end of the last one is left off, which saves a copy.

    >>> as_lines(b'{"event_id":"a"},{"event_id":"b"}')
    b'{"event_id":"a"}\\n{"event_id":"b"}'
    """
    return text.replace(_BETWEEN, b"}\n" + BEGIN)
