"""Find the list of records in a response of undocumented shape."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.spelling import fold
from adanalytics_client.errors import ProtocolError

from .exact import Json, json_text
from .raw import RawRows

_MOST_LEVELS = 8
_MOST_NAMES = 20


def is_rows(value: Json) -> bool:
    """Return whether a value is a list of objects; an empty list is one."""
    if isinstance(value, RawRows):
        return True
    return isinstance(value, list) and all(isinstance(element, dict) for element in value)


def kind_of(value: Json) -> str:
    """Name the kind of a value, in JSON's words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "an object"
    if is_rows(value):
        return "a list of objects"
    if isinstance(value, list):
        element = next(item for item in value if not isinstance(item, dict))
        return (
            f"a list with {kind_of(element) if not isinstance(element, list) else 'a list'} in it"
        )
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
    paths = {path: member for path, member in members(content) if is_rows(member)}
    subject = f"objects is named {rows_key!r}" if rows_key else "records was found"
    if fitting:
        likely = [path for path, member in paths.items() if any(member is row for row in fitting)]
        text = f"More than one list of {subject}: {_joined(likely)}"
    else:
        wrong_members = _misfits(content, names, paths)
        likely = [path for path, member in paths.items() if len(member) or not wrong_members]
        text = f"No list of {subject}"
        text += f": {wrong_members}, not a list of objects" if wrong_members else ""
    advice = "Report it to us with these keys."
    if likely:
        # The longest list is most likely the rows.
        best = max(likely, key=lambda path: len(paths[path]))
        advice = remedy("rows_key", best)
    return ProtocolError(f"{text}. Keys seen: {_keys(content)}.", remedy=advice)


def _misfits(content: dict[str, Json], names: Collection[str], lists: Iterable[str]) -> str:
    """List the members with a suitable name that neither are nor contain a list of objects."""
    return _joined(
        f"{path} is {kind_of(member)}"
        for path, member in members(content, 2)
        if fold(path.rpartition(".")[2]) in names
        and not (is_rows(member) or any(list_name.startswith(f"{path}.") for list_name in lists))
    )


def _keys(content: dict[str, Json]) -> str:
    return _joined(path for path, _ in members(content, 2)) or "none"


def members(content: Json, depth: int = _MOST_LEVELS) -> Iterator[tuple[str, Json]]:
    """List paths and values of an object and of the objects in it, the outer ones first."""
    level: list[tuple[str, Json]] = [("", content)]
    for _ in range(depth):
        level = [
            (f"{path}.{name}" if path else name, value)
            for path, branch in level
            if isinstance(branch, dict)
            for name, value in branch.items()
        ]
        yield from level


def _joined(paths: Iterable[str]) -> str:
    names = [*paths]
    rest = len(names) - _MOST_NAMES
    text = ", ".join(names[:_MOST_NAMES])
    return f"{text} and {rest} more" if rest > 0 else text


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


class Found(Struct, frozen=True):
    """A list of records, the objects around it from the outermost in, and an error beside it.

    Attributes:
        error: the service's words if it states an error beside records, else empty.
        placeholder: what stands where the list should be: `null` or `{}`; empty for a list.
    """

    rows: list[Any] | RawRows
    containers: tuple[dict[str, Json], ...]
    error: str = ""
    placeholder: str = ""

    @property
    def records(self) -> list[Any]:
        """Return the records as values."""
        return self.rows if isinstance(self.rows, list) else self.rows.rows()

    def __len__(self) -> int:
        return len(self.rows)


def find_rows(
    content: Json,
    *,
    rows_key: str | None = None,
    extra_name: str | None = None,
    single: bool = False,
) -> Found:
    """Find the only list of objects under a usual name, at the top or inside one wrapper.

    Null or an empty object in its place is a list without records.

    Args:
        content: the result of `parse` or `read_page`.
        rows_key: the list's name, if the caller knows it; then only lists of that name match, also
            inside any one object. With dots it is a path from the top, of any depth; `$` is the
            whole response.
        extra_name: one more usual name, such as the endpoint's own; the usual names then count if
            no list has the name `rows_key`.
        single: whether one object instead of a list is a list of one record.

    Raises:
        ProtocolError: when no list or more than one matches, naming the keys found, or when there
            are no records and an error is stated.
    """
    if is_rows(content):
        return Found(content, ())
    if rows_key == BODY and content is None:
        return Found([], (), placeholder="null")
    if not isinstance(content, dict):
        raise ProtocolError(
            f"The answer is {kind_of(content)}, not an object or a list of objects.",
            remedy=remedy("shape"),
        )
    # A profile says that the body is the list. An object there is either a response without
    # records, or no list.
    if rows_key == BODY:
        inner_finding = find_rows(content, extra_name=extra_name, single=single)
        if len(inner_finding) and not extra_name:
            raise ProtocolError(f"The answer is {describe(content)}, not a list of objects.")
        return inner_finding
    names = (
        {fold(rows_key)} if rows_key else {fold(name) for name in (*ROW_NAMES, extra_name or "")}
    )
    findings = _candidates(content, names, rows_key)
    # A list of this endpoint may have another name than the events, which the key is for.
    if rows_key and extra_name and not findings:
        return find_rows(content, extra_name=extra_name, single=single)
    findings = findings or _without_list(content, names, single=single)
    containers = (
        findings[0].containers if len(findings) == 1 else (content, *_inner(content, WRAPPERS))
    )
    error = stated_error(containers)
    # An error beside records is left to the caller, who knows whether a part is enough.
    if error and not any(map(len, findings)):
        raise ProtocolError(
            f"The answer contains an error instead of records: {error.rstrip('.')}.",
            remedy="Try later, or report it to the service.",
        )
    # Two lists with usual names: to take either would be a guess, and a wrong one loses events.
    if len(findings) != 1:
        rows = [finding.rows for finding in findings]
        raise _unclear(content, names, rows, rows_key)
    return replace(findings[0], error=error)


def _candidates(content: dict[str, Json], names: set[str], rows_key: str | None) -> list[Found]:
    if rows_key and (at_path := _at_path(content, rows_key.split("."))):
        return at_path
    top = [Found(rows, (content,)) for rows in _lists(content, names)]
    if rows_key and any(map(len, top)):
        return top
    candidates = [
        Found(rows, (content, container))
        for container in _inner(content, None if rows_key else WRAPPERS)
        for rows in _lists(container, names)
    ]
    # An empty list at the top hides no records further in.
    return [*top, *(candidate for candidate in candidates if len(candidate) or not top)]


def _without_list(content: dict[str, Json], names: set[str], *, single: bool) -> list[Found]:
    """Return what stands where the list should be: one record if `single`, null, or `{}`."""
    # A list under an unknown name may be the rows: the caller has to say so.
    if any(is_rows(value) and len(value) for _, value in members(content)):
        return []
    parents = [(content,), *((content, member) for member in _inner(content, WRAPPERS))]
    values = [
        (parent, parent[-1][key]) for parent in parents for key in parent[-1] if fold(key) in names
    ]
    records = [(parent, value) for parent, value in values if isinstance(value, dict) and value]
    if single:
        # An object of objects is an envelope and no record.
        return [
            Found([value], parent)
            for parent, value in records
            if not all(isinstance(cell, dict | list | RawRows) for cell in value.values())
        ]
    kinds = [
        kind
        for value, kind in _PLACEHOLDERS
        if any(value == placeholder for _, placeholder in values)
    ]
    if not content:
        kinds = ["{}"]
    return [Found([], (content,), placeholder=kinds[0])] if kinds else []


def _at_path(content: dict[str, Json], path: list[str]) -> list[Found]:
    containers = [content]
    for name in path[:-1]:
        members = [*_inner(containers[-1], (name,))]
        if len(members) != 1:
            return []
        containers.append(members[0])
    lists = _lists(containers[-1], {fold(path[-1])}) if containers[1:] else ()
    return [Found(rows, tuple(containers)) for rows in lists]


def _lists(content: dict[str, Json], names: set[str]) -> Iterator[list[dict[str, Json]] | RawRows]:
    for key, value in content.items():
        if fold(key) in names and is_rows(value):
            yield value


def _inner(content: dict[str, Json], names: Sequence[str] | None) -> Iterator[dict[str, Json]]:
    """List the objects under these names, or under any name."""
    folded_names = None if names is None else {fold(name) for name in names}
    for key, value in content.items():
        if (folded_names is None or fold(key) in folded_names) and isinstance(value, dict):
            yield value


# OAuth 2.0 (error_description), AWS Lambda (errorMessage), Elasticsearch (failures).
ERRORS = re.compile(
    r"(?:error|exception|failure)s?(?:message|msg|text|reason|description|details?)?"
)
_MOST_ERRORS = 5


def stated_error(objects: Iterable[dict[str, Json]]) -> str:
    """Read the service's statement of an error beside its data; empty for none.

    A number there may be a count of events of that type, but not the code of an object.

    Args:
        objects: those around the data, from the outermost in.
    """
    members = (member for container in objects for member in container.items())
    texts = (_words(decoded(value)) for name, value in members if ERRORS.fullmatch(fold(name)))
    return next(filter(None, texts), "")


def decoded(value: Json) -> Json:
    """Return a statement of the service with the first objects of each list of objects."""
    if isinstance(value, RawRows):
        return [*value.first(_MOST_ERRORS).rows()]
    if isinstance(value, dict):
        return {name: decoded(member) for name, member in value.items()}
    return value


def _words(value: Json) -> str:
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
