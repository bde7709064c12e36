"""Events as CSV, RFC 4180: from stored texts, mostly without decoding them.

The format of the cells is left to Python's ``csv`` module. What is fast here is not to ask it
for every row: a stored text has its fields in a fixed order, its first ones have fixed widths,
and the rest repeats from row to row (the tags, the campaign, the device of an event). So a row is
cut at its known places, its middle and its end are looked up, and the pieces are joined.
A text that is cut wrongly would be a wrong row, so whatever is unusual takes the plain way.
"""

import csv
import io
from collections.abc import Callable
from struct import Struct

import msgspec

from adanalytics_server.storage.events import EVENT_FIELDS, EVENT_TYPES, decode_event
from adanalytics_server.storage.joined_rows import BEGIN, END, bare_rows

CSV_HEADER = ",".join(EVENT_FIELDS).encode() + b"\r\n"

# Pieces remembered for one file; a piece has about 500 bytes, so this is about 8 MB.
MOST_PIECES = 16_384

# The quote before each value is part of what is skipped, so that the cells are bare. A row
# begins with the value of its id and ends before its last brace, as it was cut.
_BEFORE_TYPE = (
    36,
    b'","event_time":"',
    24,
    b'","event_date":"',
    10,
    b'","event_hour":',
    0,
    b',"received_at":"',
    24,
    b'","event_type":"',
)
_BEFORE_AUCTION = b'","auction_id":"'
_PARTNER = b',"partner_id":"'
_REVENUE = b',"revenue":"'
_PAYMENT = b',"payment_type":"'
_BEFORE_COST = b'","cost":"'
# Amounts below ten units, without a sign: nearly all of them.
_COMMON_MONEY = Struct(f"{len(_REVENUE)}x11s{len(_BEFORE_COST)}x11s")
_cut_common_money = _COMMON_MONEY.unpack_from
_COMMON_MONEY_SIZE = _COMMON_MONEY.size + 1
_REVENUE_END = len(_REVENUE) + 11
_QUOTE = ord('"')
# From where the type begins for an hour of one digit; long enough to tell all types apart.
_TYPE_AT = sum(part if isinstance(part, int) else len(part) for part in _BEFORE_TYPE) + 1
_TYPE_END = _TYPE_AT + 17


# What cuts the first seven cells out of a text, and where they end. A plain tuple, because it is
# unpacked for every row.
_Layout = tuple[Callable[[bytes], tuple[bytes, ...]], int]


def _layouts() -> dict[bytes, _Layout]:
    """Tell layouts apart by the type's name, and by the place it begins at: the hour's width."""
    found: dict[bytes, _Layout] = {}
    for width in (1, 2):
        for name in EVENT_TYPES:
            widths = [width if part == 0 else part for part in _BEFORE_TYPE]
            pattern = "".join(
                f"{part}s" if isinstance(part, int) else f"{len(part)}x" for part in widths
            )
            cells = Struct(f"{pattern}{len(name)}s{len(_BEFORE_AUCTION)}x36s")
            # With an hour of two digits everything begins one character later.
            text = b'"' * (width - 1) + name.encode() + _BEFORE_AUCTION
            found[text[: _TYPE_END - _TYPE_AT]] = (cells.unpack_from, cells.size + 1)
    return found


_LAYOUTS = _layouts()


class CsvText:
    """Turns the texts of stored events into CSV rows; keep one for a whole file."""

    def __init__(self) -> None:
        self._pieces = _Pieces()

    def rows(self, texts: list[bytes]) -> bytes:
        """Write one row per event: CRLF, null as nothing, booleans as ``true`` and ``false``.

        Each text is one event or several with commas between them, as they are stored.

        >>> CsvText().rows([])
        b''
        """
        lines = []
        pieces = self._pieces
        # One loop without calls of our own: a call per row would be a fifth of its price.
        for body in bare_rows(texts):
            try:
                cut, end = _LAYOUTS[body[_TYPE_AT:_TYPE_END]]
                # A quote after a comma opens a key, also where texts hold escaped quotes.
                money = body.index(_REVENUE, end)
                rest = body.index(_PAYMENT, money)
                if rest - money == _COMMON_MONEY_SIZE and body[money + _REVENUE_END] == _QUOTE:
                    revenue, cost = _cut_common_money(body, money)
                else:
                    revenue, cost = _amounts(body[money:rest])
                middle, tail = pieces[body[end:money]], pieces[body[rest:]]
                lines.append(b",".join([*cut(body), middle, revenue, cost, tail]))
            except (KeyError, ValueError):
                lines.append(plain_row(BEGIN + body + END))
        lines.append(b"")
        return b"\r\n".join(lines)


class _Pieces(dict[bytes, bytes]):
    """Remembers the CSV text of runs of fields, ``,"name":value,...``."""

    def __missing__(self, text: bytes) -> bytes:
        # What was cut elsewhere than between two fields ends here, and its row is decoded.
        if not text.startswith((_PARTNER, _PAYMENT)):
            raise ValueError("not a run of whole fields")
        if len(self) >= MOST_PIECES:
            self.clear()
        cells = msgspec.json.decode(b"{" + text[1:] + b"}").values()
        self[text] = written = _written([_cell(value) for value in cells])
        return written


def plain_row(body: bytes) -> bytes:
    """Write one stored event as the ``csv`` module writes it, without the line's end."""
    return _written([_cell(value) for value in msgspec.structs.astuple(decode_event(body))])


def _amounts(text: bytes) -> tuple[bytes, bytes]:
    """Cut revenue and cost out of ``,"revenue":"...","cost":...``; a null cost is empty."""
    _, _, _, revenue, _, _, *cost = text.split(b'"')
    return revenue, cost[1] if len(cost) > 1 else b""


def _cell(value: object) -> object:
    if value is True:
        return "true"
    if value is False:
        return "false"
    return msgspec.json.encode(value).decode() if isinstance(value, dict) else value


def _written(cells: list[object]) -> bytes:
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue().removesuffix("\r\n").encode()
