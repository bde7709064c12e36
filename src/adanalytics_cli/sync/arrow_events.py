"""Events as Arrow tables of one schema, whatever form they came in."""

import io
import json
from collections.abc import Sequence
from typing import Any

from adanalytics_cli.sync.arrow_library import arrow_module

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
_MARK = f'"{PAIRS}":'
TEXT = "_text"
"""The column of the events' own texts, in tables that carry them."""

# Different sets of pairs that are remembered, of a few hundred bytes each.
_MOST_REMEMBERED = 10_000


class EventTables:
    """Makes tables of events.

    Money is `decimal128(38, 9)`, times are `timestamp[ms, UTC]`, the date is `date32`, numbers
    are `int64` and `key_values` is a map of strings.

    Args:
        with_texts: let tables that come from texts carry these too, in the column `TEXT`.
    """

    def __init__(self, *, with_texts: bool = False) -> None:
        self._with_texts = with_texts
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
        self._pairs: dict[str, list[tuple[str, str]]] = {}

    def from_lines(self, texts: Sequence[str]) -> Table:
        """The events of JSON texts, one event each."""
        if not texts:
            return self.schema.empty_table()
        body = "\n".join(texts).encode("utf-8", "backslashreplace")
        table = self._json.read_json(
            io.BytesIO(body),
            read_options=self._json.ReadOptions(use_threads=False, block_size=len(body) + 1),
            parse_options=self._json.ParseOptions(
                explicit_schema=self._read_as, unexpected_field_behavior="ignore"
            ),
        )
        kind = self.schema.field(PAIRS).type
        pairs = self._arrow.array([self._pairs_of(text) for text in texts], kind)
        table = table.append_column(PAIRS, pairs).cast(self.schema)
        if self._with_texts:
            return table.append_column(TEXT, self._arrow.array(texts, self._arrow.string()))
        return table

    def _pairs_of(self, text: str) -> list[tuple[str, str]] | None:
        """The pairs of an event's text; few sets of them repeat over and over.

        They are looked for at the end, where a service that sorts its fields as the documents do
        has them. What is found there is only believed if it is JSON as a whole.
        """
        at = text.find(_MARK)
        piece = text[at + len(_MARK) : -1] if at >= 0 else ""
        if (known := self._pairs.get(piece)) is not None:
            return known
        try:
            found = _pairs(json.loads(piece))
        except ValueError:
            return _pairs(json.loads(text).get(PAIRS))
        if found is not None and len(self._pairs) < _MOST_REMEMBERED:
            self._pairs[piece] = found
        return found


def _pairs(value: object) -> list[tuple[str, str]] | None:
    if not isinstance(value, dict):
        return None
    return [(str(key), str(each)) for key, each in value.items()]
