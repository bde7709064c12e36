"""Tell an exported file from an answer that came in its place with status 200.

A service that is not ready, or in trouble, may say so at the address of the file, as JSON, XML or
plain text. Each kind of file has something that such an answer cannot have.
"""

import re
from dataclasses import dataclass, field

from adanalytics_client._export_words import (
    ERRORS,
    PROGRESS,
    WAITING,
    Said,
    levels,
    merged,
    reason_of,
    word_of,
)
from adanalytics_client._fold import fold
from adanalytics_client._json import Json, NotJson, parse

LARGEST_ANSWER = 1024 * 1024
"""Bytes; whatever is longer is no answer about a file but the file."""

_TELLING = frozenset(
    {*ERRORS, "status", "state", "success", "message", "statusmessage", "reason", "detail"}
)
_OF_EVENTS = frozenset(
    {"eventid", "eventtime", "eventtype", "eventdate", "eventhour", "auctionid", "impressionid"}
    | {"supplytagid", "demandtagid", "revenue"}
)
_OF_EXPORTS = _TELLING | PROGRESS | {"exportid", "jobid", "id", "files"}
_LINES_OF_JSON = frozenset({"jsonl", "ndjson", "jsonlines"})
_OF_LINES = _LINES_OF_JSON | {"csv"}
_NEVER_MARKUP = _OF_LINES | {"json", "parquet"}
_XML_WORDS = re.compile(r"<(Code|Message|title)>\s*([^<]{1,200})<", re.IGNORECASE)
_FIELDS = re.compile(r"[,;\t|]")
# Control characters are in no text, and in every file of a binary format.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")
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
    if not arrival.beginning:
        return Instead("nothing") if form == "parquet" else None
    if _BINARY.search(arrival.beginning):
        return None
    text = arrival.beginning.decode("utf-8-sig", "replace").strip()
    content = _document(text) if arrival.whole else None
    if content is not None and _is_answer(content, form, arrival.kind):
        return _of_document(content)
    if text.startswith("<") and form in _NEVER_MARKUP:
        return Instead(_of_markup(text))
    if form == "parquet" or (form in _LINES_OF_JSON and text and text[0] not in "{["):
        return Instead(_of_text(text))
    if not arrival.whole or form not in _OF_LINES:
        return None
    lines = len(text.splitlines())
    plain = form == "csv" and arrival.kind == "text/plain" and wanted.events != 0
    if plain and lines == 1 and _is_prose(text):
        return Instead(_of_text(text))
    if wanted.events is not None and lines < wanted.events:
        return Instead(f"one of only {lines} lines for {wanted.events} events")
    return None


def is_ordered(content: Json, form: str, *, told: bool) -> bool:
    """Whether a document that came while an export was made is its file, and no answer about it.

    Only in a format of JSON it may be; `told` is whether its media type is that of an answer.

    Example:
        >>> is_ordered({"event_id": "1", "status": "done"}, "jsonl", told=True)
        True
        >>> is_ordered({"id": "1", "progress": 40}, "jsonl", told=False)
        False
    """
    if fold(form) not in _LINES_OF_JSON | {"json"}:
        return False
    said = merged(levels(content)) if isinstance(content, dict) else {}
    lists = [content, *said.values()]
    rows = [row for each in lists if isinstance(each, list) for row in each]
    events = [said, *(merged(levels(row)) for row in rows if isinstance(row, dict))]
    if any(_OF_EVENTS & event.keys() for event in events):
        return True
    telling = any(key in _OF_EXPORTS or key.endswith(("status", "url", "urls")) for key in said)
    return not (told or telling)


def _document(text: str) -> Json:
    """The one JSON object or list that a text is, or None."""
    if text[:1] not in {"{", "["}:
        return None
    try:
        return parse(text.encode())
    except NotJson:
        return None


def _is_answer(content: Json, form: str, kind: str) -> bool:
    """Whether a document is no file of a format; one event is a document of JSON lines, too."""
    if form in {"csv", "parquet"}:
        return True
    if not isinstance(content, dict) or any(each in kind for each in ("ndjson", "jsonl")):
        return False
    said = merged(levels(content))
    telling = any(key in _TELLING or key.endswith("status") for key in said)
    return telling and not (_OF_EVENTS & said.keys() or _has_rows(said))


def _has_rows(said: Said) -> bool:
    """Whether there are records in it, other than those of errors."""
    rows = (value for key, value in said.items() if key not in {"errors", "details"})
    return any(
        isinstance(each, list) and any(isinstance(row, dict) for row in each) for each in rows
    )


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


def _of_text(text: str) -> str:
    return f"text that says {text[:_SHOWN]!r}"


def _is_prose(line: str) -> bool:
    """Whether a line is rather a sentence than the names of columns."""
    return _FIELDS.search(line) is None or line.endswith((".", "!"))
