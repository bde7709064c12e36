"""Short lists as CSV: RFC 4180, with the line ends that shells read."""

import csv
import io
from collections.abc import Sequence

from adanalytics_client.encoding import csv_cells, utf8


def csv_line(values: Sequence[object]) -> bytes:
    r"""One line: nothing for None, true and false, compact JSON for an object or a list.

    RFC 4180 ends lines with CR LF, as events are written; short lists, which shells read line
    by line, end with LF alone.

    >>> from decimal import Decimal
    >>> csv_line([None, True, Decimal("0.000000010"), 'a, b'])
    b',true,0.000000010,"a, b"\n'
    """
    buffer = io.StringIO()
    # A terminator of LF alone would leave a CR inside a cell without its quotes.
    csv.writer(buffer, lineterminator="\r\n").writerow(csv_cells(values))
    return utf8(f"{buffer.getvalue()[:-2]}\n")
