"""What an answer of status 200 says of an error, in any of the ways that are in use."""

from collections.abc import Iterable, Iterator

from adanalytics_client._fold import fold
from adanalytics_client._json import Json, NotJson
from adanalytics_client._lines import Lines
from adanalytics_client.encoding import json_text

_ERROR, _ERRORS = "error", "errors"
_MOST = 5
_SUCCESS = frozenset({"success", "ok"})
_STATE = frozenset({"status", "state"})
_FAILED = frozenset({"error", "failed", "failure", "fail"})
_ABOUT = frozenset({"meta", "metadata"})
_WORDS = ("message", "detail", "reason", "title", "description")
# What some services put where others leave the field out.
_NO_ERROR = frozenset({"", "none", "null", "false", "0", "ok", "success", "noerror"})


def stated_error(objects: Iterable[dict[str, Json]]) -> str:
    """The service's words of an error beside its data; empty when it states none.

    A number under `errors` is no error: it may be how many of the events were of that type.

    Args:
        objects: those around the data, from the outermost in.

    Example:
        >>> stated_error([{"success": False, "message": "busy", "events": []}])
        'busy'
        >>> stated_error([{"error": None, "errors": [], "status": "ok", "events": []}])
        ''
    """
    found = (told for each in objects for part in _parts(each) for told in _told(part))
    return next(found, "")


def _parts(content: dict[str, Json]) -> Iterator[dict[str, Json]]:
    yield content
    for name, value in content.items():
        if fold(name) in _ABOUT and isinstance(value, dict):
            yield value


def _told(content: dict[str, Json]) -> Iterator[str]:
    said = {fold(name): value for name, value in content.items()}
    for name in (_ERROR, _ERRORS):
        value = _read(said.get(name))
        if _is_error(value) and not (name == _ERRORS and isinstance(value, int)):
            yield _beside(said, f"{name} is true") if value is True else _words(value)
    for name, value in said.items():
        if (name in _SUCCESS and _is_no(value)) or (name in _STATE and _is_failure(value)):
            yield _beside(said, f"{name} is {_words(value)}")


def _read(value: Json) -> Json:
    """A list of objects that was left as text, the beginning of it; other values as they are."""
    if not isinstance(value, Lines):
        return value
    few = value.upto(_MOST)
    try:
        return few.rows()
    except NotJson:
        return [*few]


def _is_error(value: Json) -> bool:
    if isinstance(value, str):
        return fold(value) not in _NO_ERROR
    if isinstance(value, dict):
        return any(map(_is_error, value.values()))
    if isinstance(value, list):
        return any(map(_is_error, value))
    return bool(value)


def _is_no(value: Json) -> bool:
    # 0 may be how many went well.
    return value is False or (isinstance(value, str) and fold(value) == "false")


def _is_failure(value: Json) -> bool:
    if isinstance(value, str):
        return fold(value) in _FAILED
    # Some repeat in the body the HTTP status that they should have sent.
    return isinstance(value, int) and 400 <= value <= 599


def _beside(said: dict[str, Json], otherwise: str) -> str:
    """The first words that stand beside a sign."""
    words = (said.get(name) for name in _WORDS)
    return next((each for each in words if isinstance(each, str) and each), otherwise)


def _words(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _beside({fold(name): each for name, each in value.items()}, json_text(value))
    if isinstance(value, list):
        return "; ".join(_words(each) for each in value if _is_error(each))
    return json_text(value)
