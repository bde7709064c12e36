"""Tell JSON that holds events from JSON that says something about an export."""

import re
from itertools import islice

from adanalytics_client._export_words import ERRORS, PROGRESS, Said, levels, merged
from adanalytics_client._fold import fold
from adanalytics_client._json import Json, NotJson, parse

LINES_OF_JSON = frozenset({"jsonl", "ndjson", "jsonlines"})
"""Names of the format with an event on each line."""

_TELLING = frozenset(
    {*ERRORS, "status", "state", "success", "message", "statusmessage", "reason", "detail"}
)
_OF_EVENTS = frozenset(
    {"eventid", "eventtime", "eventtype", "eventdate", "eventhour", "auctionid", "impressionid"}
    | {"supplytagid", "demandtagid", "revenue"}
)
_OF_EXPORTS = _TELLING | PROGRESS | {"exportid", "jobid", "id", "files"}
# Rows of one list are alike, and there may be millions.
_LOOKED_AT = 100
_NAMES = re.compile(r'"([^"\\]{1,40})"\s*:')


def is_ordered(content: Json, form: str, *, told: bool) -> bool:
    """Whether a document that came while an export was made is its file, and no answer about it.

    Only in a format of JSON it may be; `told` is whether its media type is that of an answer.

    Example:
        >>> is_ordered({"event_id": "1", "status": "done"}, "jsonl", told=True)
        True
        >>> is_ordered({"id": "1", "progress": 40}, "jsonl", told=False)
        False
    """
    if fold(form) not in LINES_OF_JSON | {"json"}:
        return False
    said = merged(levels(content)) if isinstance(content, dict) else {}
    lists = [content, *said.values()]
    rows = (row for each in lists if isinstance(each, list) for row in each)
    objects = [merged(levels(row)) for row in islice(rows, _LOOKED_AT) if isinstance(row, dict)]
    if any(_OF_EVENTS & each.keys() for each in (said, *objects)):
        return True
    if isinstance(content, list) and objects:
        # Events have ids, too, and an answer is seldom a list.
        return not any(_is_telling(each, _OF_EXPORTS - {"id"}) for each in objects)
    return not (told or _is_telling(said, _OF_EXPORTS))


def _is_telling(said: Said, names: frozenset[str]) -> bool:
    return any(key in names or key.endswith(("status", "url", "urls")) for key in said)


def names_events(text: str) -> bool:
    """Whether the beginning of a document names a field that only events have.

    Example:
        >>> names_events('[{"event_id": "1", "reve'), names_events('{"files": [{"url": "https:')
        (True, False)
    """
    return any(fold(each) in _OF_EVENTS for each in _NAMES.findall(text))


def is_lines(text: str, *, of_events: bool) -> bool:
    """Whether a text begins with a document on a line of its own, and there are more.

    `of_events` asks that it is no answer about an export, which some send line by line.

    Example:
        >>> is_lines('{"id": 1}\\n{"id"', of_events=True), is_lines('{\\n  "id": 1', of_events=True)
        (True, False)
    """
    first, _, rest = text.strip().partition("\n")
    content = document(first.strip()) if rest else None
    if content is None or not of_events:
        return content is not None
    said = merged(levels(content)) if isinstance(content, dict) else {}
    return bool(_OF_EVENTS & said.keys()) or not (
        PROGRESS & said.keys() or is_answer(content, "jsonl", "")
    )


def document(text: str) -> Json:
    """The one JSON object or list that a text is, or None."""
    if text[:1] not in {"{", "["}:
        return None
    try:
        return parse(text.encode())
    except NotJson:
        return None


def is_answer(content: Json, form: str, kind: str) -> bool:
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
