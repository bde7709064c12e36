"""Find the list of records in an answer whose shape nobody documented."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from adanalytics_client._json import Json
from adanalytics_client._lines import Lines
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
    """A list of records, and the objects around it from the outermost in."""

    rows: list[dict[str, Json]] | Lines
    around: tuple[dict[str, Json], ...]

    def __len__(self) -> int:
        return len(self.rows)


def fold(name: str) -> str:
    """One spelling for camelCase, snake_case and kebab-case.

    Example:
        >>> fold("hasMore") == fold("has_more") == fold("Has-More")
        True
    """
    return "".join(each for each in name.lower() if each.isalnum())


def find_rows(content: Json, *, rows_key: str | None = None, also: str | None = None) -> Found:
    """The one list of objects under a usual name, at the top or one level inside a wrapper.

    Args:
        content: what `parse` or `outline` gave.
        rows_key: the list's name, where the caller knows it; then only that is looked at, also
            one level inside any object.
        also: one more usual name, such as the endpoint's own.

    Raises:
        ProtocolError: when nothing or more than one list fits, naming the keys that were seen, or
            when the list is empty and an error stands beside it.
    """
    if _is_rows(content):
        return Found(content, ())
    if not isinstance(content, dict):
        raise ProtocolError(f"The answer is {_kind(content)}, not an object or a list of objects.")
    names = {fold(rows_key)} if rows_key else {fold(each) for each in (*ROW_NAMES, also or "")}
    found = [Found(rows, (content,)) for rows in _lists(content, names)]
    if not found:
        found = [
            Found(rows, (content, inner))
            for inner in _wrapped(content, anywhere=rows_key is not None)
            for rows in _lists(inner, names)
        ]
    if len(found) == 1:
        _see_no_error(found[0])
        return found[0]
    seen = ", ".join(_keys(content)) or "none"
    if rows_key:
        problem = "No list of objects is" if not found else "More than one list of objects is"
        raise ProtocolError(f"{problem} named {rows_key!r}; keys seen: {seen}.")
    problem = "No list of records was" if not found else "More than one list of records was"
    hint = "" if also else "; name it with rows_key="
    raise ProtocolError(f"{problem} found{hint}. Keys seen: {seen}.")


def with_money(rows: list[dict[str, Json]]) -> None:
    """Make whole amounts Decimal as well, so that money has one type whatever its digits."""
    for row in rows:
        for name in MONEY:
            amount = row.get(name)
            if amount.__class__ is int:
                row[name] = Decimal(amount)


def _see_no_error(found: Found) -> None:
    """Some services answer 200 where they failed; nothing would then pass for no data."""
    for each in found.around if not len(found) else ():
        error = each.get("error")
        told = error.get("message") if isinstance(error, dict) else error
        if isinstance(told, str) and told:
            raise ProtocolError(f"The answer holds no records but an error: {told}")


def _lists(content: dict[str, Json], names: set[str]) -> Iterator[list[dict[str, Json]] | Lines]:
    for key, value in content.items():
        if fold(key) in names and _is_rows(value):
            yield value


def _wrapped(content: dict[str, Json], *, anywhere: bool) -> Iterator[dict[str, Json]]:
    for key, value in content.items():
        if (anywhere or fold(key) in WRAPPERS) and isinstance(value, dict):
            yield value


def _is_rows(value: Json) -> bool:
    if isinstance(value, Lines):
        return True
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _keys(content: dict[str, Json]) -> Iterator[str]:
    for key, value in content.items():
        yield key
        if isinstance(value, dict):
            yield from (f"{key}.{inner}" for inner in value)


def _kind(value: Json) -> str:
    return "a list of other things" if isinstance(value, list) else f"one {type(value).__name__}"
