"""Events as Arrow tables of one schema, whatever form they came in."""

import json
import re
import threading
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from adanalytics_cli.sync.arrow_library import arrow_module, offsets_of, text_array
from adanalytics_client import ProtocolError
from adanalytics_client.tables import event_batch

Table = Any
"""A `pyarrow.Table`; pyarrow has no types."""

_INTEGERS = ("event_hour", "supply_tag_id", "demand_tag_id", "campaign_id", "error_code")
_TIMES = ("event_time", "received_at")
_MONEY = ("revenue", "cost")
_NAMES = (
    *("event_id", "event_time", "event_date", "event_hour", "received_at", "event_type"),
    *("auction_id", "partner_id", "supply_tag_id", "demand_tag_id", "campaign_id"),
    *("creative_id", "deal_id", "media_type", "device_type", "country", "os", "currency"),
    *("revenue", "cost", "payment_type", "domain", "app_bundle", "error_code", "is_filtered"),
    "key_values",
)
PAIRS = "key_values"
Pairs = list[tuple[str, str | None]]
"""The key_values of an event."""

TEXT = "_text"
"""The column of the events' own texts, in tables that carry them."""

# The last member of an event, as the documents have it. A brace inside of it, which could be any
# brace, is not looked for: then the event is read as a whole.
_PAIRS_AT_THE_END = re.compile(rb',"key_values":(\{[^{}]*\})\}\n')


class EventTables:
    """Makes tables of events.

    Money is `decimal128(38, 9)`, times are `timestamp[ms, UTC]`, the date is `date32`, numbers
    are `int64` and `key_values` is a map of strings.

    Args:
        with_texts: let tables that come from texts carry these too, in the column `TEXT`.
    """

    def __init__(self, *, with_texts: bool = False) -> None:
        self._with_texts = with_texts
        self._reading = threading.Lock()
        self._arrow = arrow = arrow_module()
        self._json = arrow_module("pyarrow.json")
        kinds = dict.fromkeys(_NAMES, arrow.string())
        kinds |= dict.fromkeys(_INTEGERS, arrow.int64())
        kinds |= dict.fromkeys(_TIMES, arrow.timestamp("ms", tz="UTC"))
        kinds |= dict.fromkeys(_MONEY, arrow.decimal128(38, 9))
        kinds |= {"event_date": arrow.date32(), "is_filtered": arrow.bool_()}
        kinds[PAIRS] = arrow.map_(arrow.string(), arrow.string())
        self.schema = arrow.schema(list(kinds.items()))
        # The reader of JSON knows decimals, but neither dates nor maps.
        as_text = {*_TIMES, "event_date"}
        self._read_as = arrow.schema(
            [
                (name, arrow.string() if name in as_text else kind)
                for name, kind in kinds.items()
                if name != PAIRS
            ]
        )

    def from_jsonl(self, body: bytes) -> Table:
        """The events of JSON lines.

        Raises ProtocolError for a line that is no event, or a value that its column cannot hold.
        """
        if not body:
            return self._with_text(self.schema.empty_table(), body)
        try:
            # One at a time: what the reader needs for a page is several times the page.
            with self._reading:
                table = self._read_fast(body)
        except (ValueError, TypeError, AttributeError, NotImplementedError):
            # Types that Arrow's reader does not expect; the careful one knows more, or says what.
            table = self._read_carefully(_lines(body))
        return self._with_text(table, body)

    def _with_text(self, table: Table, body: bytes) -> Table:
        if not self._with_texts:
            return table
        return table.append_column(TEXT, self._arrow.array(_lines(body), self._arrow.string()))

    def _read_fast(self, body: bytes) -> Table:
        table = self._json.read_json(
            self._arrow.BufferReader(body),
            read_options=self._json.ReadOptions(use_threads=False, block_size=len(body) + 1),
            parse_options=self._json.ParseOptions(
                explicit_schema=self._read_as, unexpected_field_behavior="ignore"
            ),
        )
        return table.append_column(PAIRS, self._read_pairs(body)).cast(self.schema)

    def _read_pairs(self, body: bytes) -> Any:  # noqa: ANN401  no types
        """The column of pairs; few sets of them repeat over and over, and each is read once."""
        pieces: list[bytes] = _PAIRS_AT_THE_END.findall(body)
        if len(pieces) != body.count(b"\n"):
            pieces = [_pairs_of(text).encode() for text in _lines(body)]
        return pairs_column(text_array(pieces), self.schema)

    def _read_carefully(self, texts: Sequence[str]) -> Table:
        try:
            rows = [json.loads(text, parse_float=Decimal) for text in texts]
        except ValueError as error:
            raise ProtocolError(f"An event of the page is not JSON: {error}.") from None
        batch = event_batch(rows, self.schema.names)
        return self._arrow.table(batch).cast(self.schema)


def _lines(body: bytes) -> list[str]:
    return body.decode().split("\n")[:-1]


def pairs_column(texts: Any, schema: Any) -> Any:  # noqa: ANN401  no types
    """A column of pairs from one of their JSON texts, of which each different one is read once.

    Raises ProtocolError for a text that is neither null nor an object.
    """
    arrow = arrow_module()
    kind = schema.field(PAIRS).type
    encoded = texts.dictionary_encode()
    chunks = [
        _map_array(list(map(_pairs, chunk.dictionary.to_pylist())), kind).take(chunk.indices)
        for chunk in (encoded.chunks if isinstance(encoded, arrow.ChunkedArray) else [encoded])
    ]
    return arrow.chunked_array(chunks, kind)


def _map_array(values: Sequence[Pairs | None], kind: Any) -> Any:  # noqa: ANN401  no types
    if any(each is None or any(text is None for _, text in each) for each in values):
        return arrow_module().array(values, kind)
    pairs = [pair for each in values if each for pair in each]
    keys = text_array([key.encode() for key, _ in pairs])
    texts = text_array([(text or "").encode() for _, text in pairs])
    ends = offsets_of(len(each or ()) for each in values)
    return arrow_module().MapArray.from_arrays(ends, keys, texts)


def _pairs_of(text: str) -> str:
    value = json.loads(text, parse_float=str, parse_int=str)
    return json.dumps(value.get(PAIRS))


def _pairs(text: str) -> Pairs | None:
    try:
        # Numbers as their digits: nothing may pass through a float.
        value = json.loads(text, parse_float=str, parse_int=str)
    except ValueError:
        value = text
    if value is not None and not isinstance(value, dict):
        raise ProtocolError(f"An event has {PAIRS} that are no JSON object: {text}")
    return None if value is None else [(key, _text(each)) for key, each in value.items()]


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
