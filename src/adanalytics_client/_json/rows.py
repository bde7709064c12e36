"""Find the list of records in a response of undocumented shape."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adanalytics_client._base.spelling import fold
from adanalytics_client._json.encoding import json_text
from adanalytics_client._json.exact import Json
from adanalytics_client._json.raw import RawRows
from adanalytics_client.errors import ProtocolError

_MOST_LEVELS = 8
_MOST_NAMES = 20


def _is_rows(value: Json) -> bool:
    """Return whether a value is a list of objects; an empty list is one."""
    if isinstance(value, RawRows):
        return True
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def kind_of(value: Json) -> str:
    """Name the kind of a value, in JSON's words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "an object"
    if _is_rows(value):
        return "a list of objects"
    if isinstance(value, list):
        other = next(each for each in value if not isinstance(each, dict))
        return f"a list with {kind_of(other) if not isinstance(other, list) else 'a list'} in it"
    return "a text" if isinstance(value, str) else "a number"


def describe(value: Json) -> str:
    """Name the kind of a value, with the keys of an object."""
    if isinstance(value, dict):
        return f"an object with the keys {_keys(value)}" if value else "an empty object"
    return kind_of(value)


def _unclear(
    content: dict[str, Json], names: Collection[str], fitting: list[Json], rows_key: str | None
) -> ProtocolError:
    """Describe a response in which no list, or more than one, can be the list of records."""
    paths = {path: each for path, each in _members(content, _MOST_LEVELS) if _is_rows(each)}
    wanted = f"objects is named {rows_key!r}" if rows_key else "records was found"
    if fitting:
        likely = [path for path, each in paths.items() if any(each is one for one in fitting)]
        text = f"More than one list of {wanted}: {_joined(likely)}"
    else:
        misfits = _misfits(content, names, paths)
        likely = [path for path, each in paths.items() if len(each) or not misfits]
        text = f"No list of {wanted}"
        text += f": {misfits}, not a list of objects" if misfits else ""
    remedy = "Report it to us with these keys."
    if likely:
        best = max(likely, key=lambda path: len(paths[path]))
        remedy = f"Name it: Client(service=ServiceProfile(rows_key={best!r}))."
    return ProtocolError(f"{text}. Keys seen: {_keys(content)}.", remedy=remedy)


def _misfits(content: dict[str, Json], names: Collection[str], lists: Iterable[str]) -> str:
    """List the members with a suitable name that neither are nor contain a list of objects."""
    return _joined(
        f"{path} is {kind_of(each)}"
        for path, each in _members(content, 2)
        if fold(path.rpartition(".")[2]) in names
        and not (_is_rows(each) or any(one.startswith(f"{path}.") for one in lists))
    )


def _keys(content: dict[str, Json]) -> str:
    return _joined(path for path, _ in _members(content, 2)) or "none"


def _members(content: dict[str, Json], depth: int) -> Iterator[tuple[str, Json]]:
    """List paths and values of an object and of the objects in it, the outer ones first."""
    level = [("", content)]
    for _ in range(depth):
        inner = []
        for above, each in level:
            for name, value in each.items():
                yield f"{above}{name}", value
                if isinstance(value, dict):
                    inner.append((f"{above}{name}.", value))
        level = inner


def _joined(paths: Iterable[str]) -> str:
    names = [*paths]
    more = len(names) - _MOST_NAMES
    text = ", ".join(names[:_MOST_NAMES])
    return f"{text} and {more} more" if more > 0 else text


ROW_NAMES = (
    "events",
    "data",
    "results",
    "items",
    "records",
    "rows",
    "logs",
    "entries",
    "list",
    "content",
    "values",
)
BODY = "$"
"""The name of the list that is the whole response."""

_PLACEHOLDERS: tuple[tuple[Json, str], ...] = ((None, "null"), ({}, "{}"))
WRAPPERS = ("data", "result", "response", "payload")


@dataclass(frozen=True, slots=True)
class Found:
    """A list of records, the objects around it from the outermost in, and an error beside it.

    Attributes:
        error: the service's words if it states an error beside records, else empty.
        placeholder: what stands where the list should be: `null` or `{}`; empty for a list.
    """

    rows: list[Any] | RawRows
    around: tuple[dict[str, Json], ...]
    error: str = ""
    placeholder: str = ""

    @property
    def records(self) -> list[Any]:
        """Return the records as values."""
        return self.rows if isinstance(self.rows, list) else self.rows.rows()

    def __len__(self) -> int:
        return len(self.rows)


def find_rows(
    content: Json, *, rows_key: str | None = None, also: str | None = None, single: bool = False
) -> Found:
    """Find the only list of objects under a usual name, at the top or inside one wrapper.

    Null or an empty object in its place is a list without records.

    Args:
        content: the result of `parse` or `read_page`.
        rows_key: the list's name, if the caller knows it; then only lists of that name match, also
            inside any one object. With dots it is a path from the top, of any depth; `$` is the
            whole response.
        also: one more usual name, such as the endpoint's own; then the usual names count if no list
            has the name `rows_key`.
        single: whether one object instead of a list is a list of one record.

    Raises:
        ProtocolError: when no list or more than one matches, naming the keys found, or when there
            are no records and an error is stated.
    """
    if _is_rows(content):
        return Found(content, ())
    if rows_key == BODY and content is None:
        return Found([], (), placeholder="null")
    if not isinstance(content, dict):
        raise ProtocolError(
            f"The answer is {kind_of(content)}, not an object or a list of objects."
        )
    if rows_key == BODY:
        found_inside = find_rows(content, also=also, single=single)
        if len(found_inside) and not also:
            raise ProtocolError(f"The answer is {describe(content)}, not a list of objects.")
        return found_inside
    names = {fold(rows_key)} if rows_key else {fold(each) for each in (*ROW_NAMES, also or "")}
    found = _candidates(content, names, rows_key)
    if rows_key and also and not found:
        return find_rows(content, also=also, single=single)
    found = found or _without_list(content, names, single=single)
    around = found[0].around if len(found) == 1 else (content, *_inner(content, WRAPPERS))
    error = stated_error(around)
    if error and not any(map(len, found)):
        raise ProtocolError(f"The answer contains an error instead of records: {error}")
    if len(found) != 1:
        rows = [each.rows for each in found]
        raise _unclear(content, names, rows, rows_key)
    return replace(found[0], error=error)


def _candidates(content: dict[str, Json], names: set[str], rows_key: str | None) -> list[Found]:
    if rows_key and (at_path := _at_path(content, rows_key.split("."))):
        return at_path
    top = [Found(rows, (content,)) for rows in _lists(content, names)]
    if rows_key and any(map(len, top)):
        return top
    inner = [
        Found(rows, (content, each))
        for each in _inner(content, None if rows_key else WRAPPERS)
        for rows in _lists(each, names)
    ]
    # An empty list at the top hides no records further in.
    return [*top, *(each for each in inner if len(each) or not top)]


def _without_list(content: dict[str, Json], names: set[str], *, single: bool) -> list[Found]:
    """Return what stands where the list should be: one record if `single`, null, or `{}`."""
    if any(_is_rows(value) and len(value) for _, value in _members(content, _MOST_LEVELS)):
        return []
    around = [(content,), *((content, inner) for inner in _inner(content, WRAPPERS))]
    members = [(each, each[-1][key]) for each in around for key in each[-1] if fold(key) in names]
    records = [(each, value) for each, value in members if isinstance(value, dict) and value]
    if single:
        records = [pair for pair in records if not all(map(_is_container, pair[1].values()))]
        return [Found([value], each) for each, value in records]
    kinds = [kind for value, kind in _PLACEHOLDERS if any(value == one for _, one in members)]
    if not content:
        kinds = ["{}"]
    return [Found([], (content,), placeholder=kinds[0])] if kinds else []


def _is_container(value: Json) -> bool:
    return isinstance(value, dict | list | RawRows)


def _at_path(content: dict[str, Json], path: list[str]) -> list[Found]:
    around = [content]
    for name in path[:-1]:
        inner = [*_inner(around[-1], (name,))]
        if len(inner) != 1:
            return []
        around.append(inner[0])
    lists = _lists(around[-1], {fold(path[-1])}) if around[1:] else ()
    return [Found(rows, tuple(around)) for rows in lists]


def _lists(content: dict[str, Json], names: set[str]) -> Iterator[list[dict[str, Json]] | RawRows]:
    for key, value in content.items():
        if fold(key) in names and _is_rows(value):
            yield value


def _inner(content: dict[str, Json], names: Sequence[str] | None) -> Iterator[dict[str, Json]]:
    """List the objects under these names, or under any name."""
    folded = None if names is None else {fold(each) for each in names}
    for key, value in content.items():
        if (folded is None or fold(key) in folded) and isinstance(value, dict):
            yield value


# OAuth 2.0 (error_description), AWS Lambda (errorMessage), Elasticsearch (failures).
_ERRORS = re.compile(
    r"(?:error|exception|failure)s?(?:message|msg|text|reason|description|details?)?"
)
_MOST_ERRORS = 5


def stated_error(objects: Iterable[dict[str, Json]]) -> str:
    """Read the service's statement of an error beside its data; empty for none.

    A number there may be a count of events of that type, but not the code of an object.

    Args:
        objects: those around the data, from the outermost in.
    """
    members = (member for each in objects for member in each.items())
    stated = (_words(value) for name, value in members if _ERRORS.fullmatch(fold(name)))
    return next(filter(None, stated), "")


def _words(value: Json) -> str:
    if isinstance(value, RawRows):
        value = [*value.first(_MOST_ERRORS).rows()]
    if isinstance(value, list):
        return "; ".join(filter(None, map(_words, value)))
    if isinstance(value, dict):
        if isinstance(message := value.get("message"), str) and message:
            return message
        # The code of google.rpc.Status is 0 for none.
        has_code = value.get("code") not in (None, "", 0, 200, "0", "200")
        return json_text(value) if has_code or any(map(_words, value.values())) else ""
    if isinstance(value, str):
        return value
    return "true" if value is True else ""
