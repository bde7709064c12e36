"""Tell an exported file from an answer that came in its place with status 200.

A service that is not ready, or in trouble, may say so at the address of the file, as JSON, XML or
plain text. Each kind of file has something that such an answer cannot have.
"""

import re
from dataclasses import dataclass, field

from adanalytics_client._event_documents import LINES_OF_JSON, document, is_answer
from adanalytics_client._export_words import (
    ERRORS,
    WAITING,
    WORDS,
    levels,
    merged,
    reason_of,
    word_of,
)
from adanalytics_client._fold import fold
from adanalytics_client._json import Json, NotJson, parse
from adanalytics_client._media_types import is_json

LARGEST_ANSWER = 1024 * 1024
"""Bytes; of what is longer only the beginning is looked at."""

_OF_LINES = LINES_OF_JSON | {"csv"}
_NEVER_MARKUP = _OF_LINES | {"json", "parquet"}
_XML_WORDS = re.compile(r"<(Code|Message|title)>\s*([^<]{1,200})<", re.IGNORECASE)
# A quote within a field of CSV would be doubled.
_DOCUMENT = re.compile(r'\[?\s*\{\s*"(?:[^"\\]|\\.)*"\s*:')
_FIELDS = re.compile(r"[,;\t|]")
# Control characters are in no text, and in every file of a binary format.
BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""Finds what no text holds."""

_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a file should be.

    Attributes:
        form: the format that was ordered.
        events: how many it should hold, where known of this file.
    """

    form: str
    events: int | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """What arrived.

    Attributes:
        beginning: its first bytes, or all where there are at most `LARGEST_ANSWER`.
        whole: whether these are all.
        kind: the media type it came with.
    """

    beginning: bytes
    whole: bool
    kind: str


@dataclass(frozen=True, slots=True)
class Instead:
    """What came instead of the file; `waiting` when it says that the file is still being made.

    Its words may echo what was sent, which an error report would show with the local variables.
    """

    told: str = field(repr=False)
    waiting: bool = False


def came_instead(wanted: Wanted, arrival: Arrival) -> Instead | None:
    """What came instead of the file, or None for what may be the file.

    Example:
        >>> came_instead(Wanted("csv"), Arrival(b'{"error": "gone"}', True, "text/csv")).told
        "JSON that says 'gone'"
        >>> came_instead(Wanted("csv"), Arrival(b"event_id,revenue", True, "text/csv"))
    """
    form = fold(wanted.form)
    if BINARY.search(arrival.beginning):
        return None
    text = arrival.beginning.decode("utf-8-sig", "replace").strip()
    if not text:
        # Some write not even names of columns where there are no events.
        proven = form != "csv" or wanted.events == 0 or not is_loose(arrival.kind)
        return None if proven and form != "parquet" else Instead("nothing")
    content = document(text) if arrival.whole else None
    if content is not None and is_answer(content, form, arrival.kind):
        return _of_document(content)
    if not arrival.whole and form in {"csv", "parquet"} and _is_long_document(text, arrival.kind):
        return Instead("a long JSON document")
    if text.startswith("<") and form in _NEVER_MARKUP:
        return Instead(_of_markup(text))
    if form == "parquet" or (form in LINES_OF_JSON and text[0] not in "{["):
        return _of_text(text)
    if not arrival.whole or form not in _OF_LINES:
        return None
    lines = len(text.splitlines())
    one = form == "csv" and wanted.events != 0 and lines == 1
    if one and (is_word(text) or (is_loose(arrival.kind) and _is_prose(text))):
        return _of_text(text)
    if wanted.events is not None and lines < wanted.events:
        return Instead(f"one of only {lines} lines for {wanted.events} events")
    return None


def _is_long_document(text: str, kind: str) -> bool:
    """Whether a text is the beginning of one JSON document, and not of lines of them."""
    if text[:1] not in {"{", "["} or document(text.partition("\n")[0]) is not None:
        return False
    return is_json(kind) or _DOCUMENT.match(text) is not None


def _of_document(content: Json) -> Instead:
    if not isinstance(content, dict):
        return Instead("a JSON list")
    found = levels(content)
    said, word = merged(found), word_of(found)
    failure = reason_of(said, ERRORS)
    if failure is None and fold(word or "") in WAITING:
        return Instead(f"JSON with the status {word!r}", waiting=True)
    reason = failure or reason_of(said)
    if reason is None and word is not None:
        return Instead(f"JSON with the status {word!r}")
    told = f"that says {reason[:_SHOWN]!r}" if reason else f"with the keys {', '.join(content)}"
    return Instead(f"JSON {told[: 2 * _SHOWN]}")


def _of_markup(text: str) -> str:
    what = "an HTML page" if "<html" in text[:1000].lower() else "XML"
    words = ": ".join(each[1].strip() for each in _XML_WORDS.findall(text[:5000]))
    return f"{what} that says {words[:_SHOWN]!r}" if words else what


def _of_text(text: str) -> Instead:
    return Instead(f"text that says {text[:_SHOWN]!r}", waiting=fold(text[:_SHOWN]) in WAITING)


def is_word(text: str) -> bool:
    """Whether a text is nothing but a word for a state, or a value of JSON that means nothing.

    Example:
        >>> is_word('"Not ready"'), is_word("null"), is_word("event_id")
        (True, True, False)
    """
    return len(text) <= _SHOWN and fold(text) in WORDS | {"null", "true", "false"}


def is_loose(kind: str) -> bool:
    """Whether a media type may as well be that of an answer."""
    return kind in {"", "text/plain", "text/html"} or kind.endswith("xml") or is_json(kind)


def _is_prose(line: str) -> bool:
    """Whether a line is rather a sentence, or one value, than the names of columns."""
    if _FIELDS.search(line) is None or line.endswith((".", "!")):
        return True
    try:
        parse(line.encode())
    except NotJson:
        return False
    return True
