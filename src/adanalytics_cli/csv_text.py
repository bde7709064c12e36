"""Short lists as CSV: RFC 4180, with the line ends that shells read."""

import csv
import io
from collections.abc import Mapping, Sequence
from decimal import Decimal

from adanalytics_cli.json_text import encode_json


def csv_line(values: Sequence[object]) -> bytes:
    r"""One line: nothing for None, true and false, compact JSON for an object or a list.

    RFC 4180 ends lines with CR LF, as events are written; short lists, which shells read line
    by line, end with LF alone.

    >>> csv_line([None, True, Decimal("0.000000010"), 'a, b'])
    b',true,0.000000010,"a, b"\n'
    """
    buffer = io.StringIO()
    # A terminator of LF alone would leave a CR inside a cell without its quotes.
    csv.writer(buffer, lineterminator="\r\n").writerow([_cell(value) for value in values])
    # Half a surrogate pair is legal in JSON but not in UTF-8; its escape keeps it readable.
    return f"{buffer.getvalue()[:-2]}\n".encode("utf-8", "backslashreplace")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Mapping):
        return encode_json({key: value[key] for key in sorted(value)}).decode()
    return encode_json(value).decode()
