"""Find the list of records in an answer whose shape nobody documented."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from adanalytics_client._fold import fold
from adanalytics_client._json import Json
from adanalytics_client._lines import Lines
from adanalytics_client._shapes import is_rows, kind_of, unclear
from adanalytics_client._stated_errors import stated_error
from adanalytics_client.errors import ProtocolError

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
MONEY = ("revenue", "cost")
WRAPPERS = ("data", "result", "response", "payload")


@dataclass(frozen=True, slots=True)
class Found:
    """A list of records, the objects around it from the outermost in, and an error beside it.

    Attributes:
        error: the service's words where it states an error beside records, else empty.
    """

    rows: list[dict[str, Json]] | Lines
    around: tuple[dict[str, Json], ...]
    error: str = ""

    def __len__(self) -> int:
        return len(self.rows)


def find_rows(content: Json, *, rows_key: str | None = None, also: str | None = None) -> Found:
    """The one list of objects under a usual name, at the top or one level inside a wrapper.

    Args:
        content: what `parse` or `outline` gave.
        rows_key: the list's name, where the caller knows it; then only that is looked at, also
            one level inside any object. With dots it is a path from the top, of any depth.
        also: one more usual name, such as the endpoint's own.

    Raises:
        ProtocolError: when nothing or more than one list fits, naming the keys that were seen, or
            when there are no records and an error is stated.
    """
    if is_rows(content):
        return Found(content, ())
    if not isinstance(content, dict):
        raise ProtocolError(
            f"The answer is {kind_of(content)}, not an object or a list of objects."
        )
    names = {fold(rows_key)} if rows_key else {fold(each) for each in (*ROW_NAMES, also or "")}
    found = _candidates(content, names, rows_key)
    around = found[0].around if len(found) == 1 else (content, *_inner(content, WRAPPERS))
    error = stated_error(around)
    if error and not any(map(len, found)):
        raise ProtocolError(f"The answer holds no records but an error: {error}")
    if len(found) != 1:
        raise ProtocolError(
            unclear(
                content,
                names,
                [each.rows for each in found],
                rows_key=rows_key,
                settable=also is None,
            )
        )
    return replace(found[0], error=error)


def with_money(rows: list[dict[str, Json]]) -> None:
    """Make whole amounts Decimal as well, so that money has one type whatever its digits."""
    for row in rows:
        for name in MONEY:
            amount = row.get(name)
            if amount.__class__ is int:
                row[name] = Decimal(amount)


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


def _at_path(content: dict[str, Json], path: list[str]) -> list[Found]:
    around = [content]
    for name in path[:-1]:
        inner = [*_inner(around[-1], (name,))]
        if len(inner) != 1:
            return []
        around.append(inner[0])
    lists = _lists(around[-1], {fold(path[-1])}) if around[1:] else ()
    return [Found(rows, tuple(around)) for rows in lists]


def _lists(content: dict[str, Json], names: set[str]) -> Iterator[list[dict[str, Json]] | Lines]:
    for key, value in content.items():
        if fold(key) in names and is_rows(value):
            yield value


def _inner(content: dict[str, Json], names: Sequence[str] | None) -> Iterator[dict[str, Json]]:
    """The objects under these names, or under any."""
    folded = None if names is None else {fold(each) for each in names}
    for key, value in content.items():
        if (folded is None or fold(key) in folded) and isinstance(value, dict):
            yield value
