"""What the words of an answer say about a bulk export: where it stands, and why it failed."""

from collections.abc import Iterable

from adanalytics_client._effects import Head
from adanalytics_client._export import ExportPhase
from adanalytics_client._fold import fold
from adanalytics_client._json import Json
from adanalytics_client._url import origin_of

_DONE = frozenset(
    {"completed", "complete", "done", "success", "succeeded", "ready", "finished", "available"}
)
FAILED = frozenset(
    {"failed", "failure", "error", "fatal", "aborted", "rejected", "cancelled", "canceled"}
)
"""Words for the end of what did not succeed."""

WAITING = frozenset(
    {"pending", "processing", "queued", "running", "inprogress", "started", "accepted", "waiting"}
    | {"preparing", "generating", "scheduled", "submitted", "created", "building", "notready"}
)
"""Words for what is being made; an export is, too, under a word that nobody knows."""

WORDS = _DONE | FAILED | WAITING
"""Words for any state of an export."""

# What an envelope says of the request, whatever it says of the export further in.
_ANSWERED = frozenset({"success", "ok"})
# With false they say that there is more to do.
_FLAGS = _DONE - _ANSWERED

PROGRESS = frozenset({"progress", "percent", "percentage", "percentcomplete", "percentdone"})
"""Names of how far something under way has come."""

ERRORS = ("error", "errormessage", "errors", "failure", "failurereason")
"""Names of nothing but an error."""

_REASONS = (*ERRORS, "reason", "statusmessage", "message", "detail", "details", "description")
_INNER_REASONS = ("message", "reason", "detail", "description", "title", "error", "code")
_INNER = frozenset({"data", "result", "response", "payload", "export", "job", "links"})

Said = dict[str, Json]
"""An object's members by their folded names."""


def levels(content: dict[str, Json]) -> list[Said]:
    """An object and the objects in it, from the outermost one to the innermost."""
    found = [{fold(key): value for key, value in content.items()}]
    for key, value in content.items():
        if fold(key) in _INNER and isinstance(value, dict):
            found += levels(value)
    return found


def merged(found: list[Said]) -> Said:
    """All names of the levels; what is further in wins, since it is nearer to the export."""
    said: Said = {}
    for level in found:
        said.update(level)
    return said


def word_of(found: list[Said]) -> str | None:
    """The word for the state of the export, from the innermost object that has one.

    A mere "success" counts only when nothing else is said: it may be about the request.
    """
    words = [word for level in reversed(found) for word in _words(level)]
    telling = (word for word in words if fold(word) not in _ANSWERED)
    return next(telling, words[0] if words else None)


def _words(level: Said) -> list[str]:
    names = ["status", "state", *(key for key in level if key.endswith("status"))]
    values = (level.get(name) for name in dict.fromkeys(names))
    return [each for each in values if isinstance(each, str) and each and not is_address(each)]


def phase_of(word: str | None, said: Said, head: Head, *, addressed: bool) -> ExportPhase:
    """Where the export stands; `addressed` tells that the answer names an address of any kind."""
    folded = fold(word or "")
    unfinished = (word is None or folded in _ANSWERED) and is_unfinished(said)
    if folded in _DONE and not unfinished:
        return ExportPhase.DONE
    if folded in FAILED or (word is None and _is_refused(said, addressed=addressed)):
        return ExportPhase.FAILED
    if folded == "expired":
        return ExportPhase.EXPIRED
    under_way = head.status == 202 or (not addressed and PROGRESS & said.keys())
    if word is None and not (under_way or unfinished) and "status" not in said:
        return ExportPhase.DONE
    return ExportPhase.WORKING


def is_unfinished(said: Said) -> bool:
    """Whether it is denied that something is done.

    Example:
        >>> is_unfinished({"isready": False}), is_unfinished({"done": None})
        (True, False)
    """
    return any(value is False and key.removeprefix("is") in _FLAGS for key, value in said.items())


def _is_refused(said: Said, *, addressed: bool) -> bool:
    """Whether an answer without a state is an error in the dress of a success."""
    if said.get("success") is False or said.get("ok") is False:
        return True
    return not addressed and reason_of(said, ERRORS) is not None


def reason_of(said: Said, names: Iterable[str] = _REASONS) -> str | None:
    """The service's words about what went wrong, or None."""
    return next((text for name in names if (text := _text(said.get(name)))), None)


def _text(value: Json) -> str | None:
    if isinstance(value, str):
        return value or None
    if isinstance(value, list):
        return "; ".join(filter(None, map(_text, value))) or None
    if isinstance(value, dict):
        inner = {fold(key): each for key, each in value.items()}
        return reason_of(inner, _INNER_REASONS)
    return None


def is_address(value: str) -> bool:
    """Whether a text in the place of a word is an address."""
    return value.startswith("/") or origin_of(value) is not None
