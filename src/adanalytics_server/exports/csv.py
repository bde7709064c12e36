"""Events as CSV, RFC 4180; Python's ``csv`` module decides which cells to quote."""

import csv
import io

import msgspec

from adanalytics_server.storage.events import EVENT_FIELDS, LogEvent

CSV_HEADER = ",".join(EVENT_FIELDS).encode() + b"\r\n"

_decode = msgspec.json.Decoder(list[LogEvent]).decode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def csv_rows(texts: list[bytes]) -> bytes:
    """Write one CSV row per stored event, each ending in CRLF.

    Null is an empty cell, a boolean ``true`` or ``false``, and ``key_values`` compact JSON with
    sorted keys. Each text is the stored JSON of one or more events, separated by commas.
    """
    out = io.StringIO(newline="")
    write_row = csv.writer(out).writerow
    for event in _decode(b"[" + b",".join(texts) + b"]"):
        event_id, time, day, hour, received, kind, auction, *cells, is_filtered, key_values = (
            msgspec.structs.astuple(event)
        )
        # UUIDs, times and the event type need no quotes. They are half of a row, and most of the
        # cost of a row is the csv module, which checks every character.
        out.write(f"{event_id},{time},{day},{hour},{received},{kind},{auction},")
        cells += ["true" if is_filtered else "false", _encode_sorted(key_values).decode()]
        write_row(cells)
    return out.getvalue().encode()
