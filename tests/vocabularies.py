"""Three services that send none of the documented fields, or name them in their own way."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

HOURS = [("2026-01-15", 3), ("2026-01-15", 13), ("2026-01-16", 0)]
MIDNIGHT = {"2026-01-15": 1_768_435_200, "2026-01-16": 1_768_521_600}
ROWS_PER_HOUR = 25


@dataclass(frozen=True)
class Vocabulary:
    """The events of a service.

    Attributes:
        rows: the JSON texts of events, by day and hour.
        amount: a field to be added up.
        types: the Arrow types of all fields, by name, in their order.
        profile: what a `ServiceProfile` has to say of it.
    """

    rows: Mapping[tuple[str, int], Sequence[str]]
    amount: str
    types: Mapping[str, str]
    profile: Mapping[str, Any] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        return [text for texts in self.rows.values() for text in texts]

    @property
    def sum(self) -> Decimal:
        rows = [json.loads(text, parse_float=Decimal) for text in self.texts]
        return sum((Decimal(row[self.amount]) for row in rows), Decimal(0))


def _rows(make: Any) -> dict[tuple[str, int], list[str]]:
    return {at: [make(*at, number) for number in range(ROWS_PER_HOUR)] for at in HOURS}


def _counters(day: str, hour: int, number: int) -> str:
    return (
        f'{{"ymdh":"{day} {hour:02}:00:00","placement":"p-{number:02}",'
        f'"usable_requests":{number * 1000},"impressions":{number},"clicks":{number % 3},'
        f'"revenue":"0.00009449{number:02}","rate":0.{number:03}1}}'
    )


def _of_epochs(day: str, hour: int, number: int) -> str:
    moment = MIDNIGHT[day] + hour * 3600 + number
    return (
        f'{{"id":"{day}-{hour}-{number}","type":"{["click", "view"][number % 2]}",'
        f'"timestamp":{moment},"sent":{moment}{number:03},"is_filtered":{number % 2},'
        f'"spend":{number + 0.1 + 0.2!r},"device":{{"os":"x","v":[1,{number}]}}}}'
    )


def _camel_case(day: str, hour: int, number: int) -> str:
    return (
        f'{{"eventId":"{day}-{hour}-{number}","eventTime":"{day}T{hour:02}:00:00.1234{number:02}Z",'
        f'"eventType":"impression","userId":{2**64 - 1 - number},"isFiltered":false,'
        f'"grossRevenue":"1.{number:02}0","keyValues":{{"slot":"{number}"}},'
        f'"zip":"0{number:04}","note":null}}'
    )


COUNTERS = Vocabulary(
    _rows(_counters),
    "revenue",
    {
        "ymdh": "timestamp[ms, tz=UTC]",
        "placement": "string",
        "usable_requests": "int64",
        "impressions": "int64",
        "clicks": "int64",
        "revenue": "decimal128(38, 10)",
        "rate": "decimal128(38, 9)",
    },
)
EPOCHS = Vocabulary(
    _rows(_of_epochs),
    "spend",
    {
        "id": "string",
        "type": "string",
        "timestamp": "timestamp[ms, tz=UTC]",
        "sent": "int64",
        "is_filtered": "bool",
        "spend": "decimal128(38, 17)",
        "device": "string",
    },
)
CAMEL_CASE = Vocabulary(
    _rows(_camel_case),
    "grossRevenue",
    {
        "eventId": "string",
        "eventTime": "timestamp[us, tz=UTC]",
        "eventType": "string",
        "userId": "decimal128(38, 0)",
        "isFiltered": "bool",
        "grossRevenue": "decimal128(38, 9)",
        "keyValues": "map<string, string>",
        "zip": "string",
        "note": "string",
    },
    {"fields": {"revenue": "grossRevenue"}},
)
VOCABULARIES = {"counters": COUNTERS, "epochs": EPOCHS, "camelCase": CAMEL_CASE}


def as_csv(texts: Sequence[str]) -> bytes:
    """The file of an export, with the digits of the texts."""
    rows = [json.loads(text, parse_float=_Digits, parse_int=_Digits) for text in texts]
    file = io.StringIO()
    # Quotes tell an empty text from a null.
    out = csv.writer(file, lineterminator="\n")
    out.writerow(rows[0])
    out.writerows([_cell(value) for value in row.values()] for row in rows)
    return file.getvalue().encode()


class _Digits(str):
    """A number as it is spelled."""

    __slots__ = ()


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, dict | list):
        return json.dumps(_plain(value), separators=(",", ":"))
    return json.dumps(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return json.loads(value) if isinstance(value, _Digits) else value


def as_parquet(texts: Sequence[str]) -> bytes:
    """The file of an export, with JSON's own types: numbers with a fraction are doubles."""
    rows = [json.loads(text) for text in texts]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    arrays = {
        name: pa.array(values, pa.uint64() if _is_large(values[0]) else None)
        for name, values in columns.items()
    }
    file = io.BytesIO()
    pq.write_table(pa.table(arrays), file)
    return file.getvalue()


def _is_large(value: Any) -> bool:
    return isinstance(value, int) and value >= 2**63
