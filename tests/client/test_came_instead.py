"""What is taken for an exported file and what for an answer in its place, by its bytes alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adanalytics_client._instead import Arrival, Wanted, came_instead

FILE = b"a,b\r\n" + b"1,2\r\n" * 2000
S3 = b'<?xml version="1.0"?>\n<Error><Code>SlowDown</Code><Message>Reduce rate</Message></Error>'
EVENT = {"event_id": "e1", "status": "filled", "message": "ok"}


def _json(content: Any) -> bytes:
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("form", "body", "kind", "events"),
    [
        ("csv", FILE, "application/json", 2000),
        ("csv", b"event_id,revenue\n", "text/plain", None),
        ("csv", b"event_id\n", "text/plain", 0),
        ("csv", b"event_id", "text/csv", None),
        ("csv", b"e1,1.5", "text/csv", 1),
        ("csv", b"", "text/csv", None),
        ("csv", b"", "", 0),
        ("csv", b"created", "text/csv", 0),
        ("csv", b'"event_id"', "text/csv", None),
        ("csv", b"event_id,revenue", "", None),
        ("csv", b"PK\x03\x04 and so on", "", 500),
        ("csv", '\ufeff"status";"error"\n'.encode(), "text/csv", None),
        ("csv", b'{"status": "pending"}\n{"status": "pending"}\n', "", None),
        ("jsonl", _json(EVENT), "application/json", 1),
        ("jsonl", _json({"status": "filled", "error": "x"}), "application/x-ndjson", None),
        ("jsonl", _json({"id": 1, "price": "2"}), "application/json", None),
        ("jsonl", b"", "", None),
        ("parquet", b"PAR1\x15\x04 and so on", "application/json", None),
        ("json", _json({"status": "success", "data": [EVENT]}), "application/json", None),
        ("json", _json([{"status": 1}]), "application/json", None),
        ("xml", S3, "application/xml", None),
        ("jsonl", b'{"a":1}\n' * 9, "", 9),
    ],
)
def test_a_file_is_not_refused_for_its_looks(
    form: str, body: bytes, kind: str, events: int | None
) -> None:
    arrival = Arrival(body, whole=True, kind=kind)
    assert came_instead(Wanted(form, events), arrival) is None


@pytest.mark.parametrize(
    ("form", "body", "told"),
    [
        ("csv", b"event_id\ne1\n", "one of only 2 lines for 20 events"),
        ("jsonl", b'{"a":1}\n', "one of only 1 lines for 20 events"),
        ("csv", b"[]", "a JSON list"),
        ("csv", b"null", "text that says 'null'"),
        ("csv", b'"Not ready"\n', "text that says"),
        ("jsonl", b"processing", "text that says 'processing'"),
        ("csv", _json({"a": 1, "b": 2}), "JSON with the keys a, b"),
        ("parquet", b"", "nothing"),
        ("parquet", b"event_id,revenue\n" * 2, "text that says 'event_id,revenue"),
    ],
)
def test_what_came_instead_is_named(form: str, body: bytes, told: str) -> None:
    found = came_instead(Wanted(form, 20), Arrival(body, whole=True, kind="text/csv"))
    assert found is not None
    assert found.told.startswith(told)


@pytest.mark.parametrize("kind", ["", "text/plain", "application/json"])
@pytest.mark.parametrize(
    "body",
    [b"", b"\n", b"null", b"false", b"12", b"event_id", b'"Busy, try later"', b"busy, wait."],
)
def test_a_single_value_is_no_csv_unless_it_is_called_one(body: bytes, kind: str) -> None:
    assert came_instead(Wanted("csv"), Arrival(body, whole=True, kind=kind)) is not None
    assert came_instead(Wanted("csv", 0), Arrival(body, whole=True, kind=kind)) is None


LONG = _json({"status": "done", "files": [{"url": "/f?" + "s" * 500}] * 2100})


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("kind", ["", "text/csv", "application/json"])
def test_the_beginning_of_a_long_answer_is_enough(form: str, kind: str) -> None:
    found = came_instead(Wanted(form), Arrival(LONG[:1000], whole=False, kind=kind))
    assert found is not None
    assert found.told == "a long JSON document"
    if form == "csv":
        lines = Arrival(b'{"a": 1}\n' * 100 + b'{"a"', whole=False, kind=kind)
        assert came_instead(Wanted(form), lines) is None
