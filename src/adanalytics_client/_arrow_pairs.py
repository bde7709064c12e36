"""Sets of names and texts from JSON, as one column: few sets come over and over."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adanalytics_client._arrow_buffers import offsets_array, text_array
from adanalytics_client._arrow_schema import Kind
from adanalytics_client._arrow_values import Pairs, pairs, to_array
from adanalytics_client._extras import import_extra
from adanalytics_client._json import parse_text

if TYPE_CHECKING:
    import pyarrow as pa


def pairs_array(texts: "pa.StringArray", behind: str = "") -> "pa.MapArray":
    """The pairs in JSON objects, of which each different text is read once.

    Values become text as in any column of text; null stays null, a value as well as a set.

    Args:
        texts: JSON, an object or null each; where there is no text, there are no pairs.
        behind: what is behind the JSON in every text.

    Raises:
        ValueError: for a text that is anything else.

    Example:
        >>> pairs_array(pyarrow.array(['{"slot":"top"}', None])).to_pylist()
        [[('slot', 'top')], None]
    """
    encoded = texts.dictionary_encode()
    sets = [_read(text, behind) for text in encoded.dictionary.to_pylist()]
    column: pa.MapArray = _made(sets).take(encoded.indices)
    return column


def _read(text: str, behind: str) -> Pairs | None:
    if not text.endswith(behind):
        raise ValueError(text)
    value = parse_text(text[: len(text) - len(behind)])
    return None if value is None else pairs(value)


def _made(sets: Sequence[Pairs | None]) -> "pa.MapArray":
    if any(each is None or any(text is None for _, text in each) for each in sets):
        return to_array(Kind.PAIRS, [None if each is None else dict(each) for each in sets])
    flat = [pair for each in sets for pair in each or ()]
    names = text_array([name.encode() for name, _ in flat])
    texts = text_array([(text or "").encode() for _, text in flat])
    ends = offsets_array(len(each or ()) for each in sets)
    made: pa.MapArray = import_extra("pyarrow", extra="arrow").MapArray.from_arrays(
        ends, names, texts
    )
    return made
