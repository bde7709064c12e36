"""Where a response holds its rows and its page numbers."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from adanalytics_client._base.spelling import fold
from adanalytics_client._json.exact import Json
from adanalytics_client._json.rows import BODY, Found, find_rows, is_rows, members, stated_error
from adanalytics_client._shapes.page import PAGING, signals, stated_shortfall
from adanalytics_client._shapes.places import values_at
from adanalytics_client.errors import ProtocolError

_PLAIN = re.compile(r'true|false|\d{1,3}|"[a-z_]{1,20}"')
_NUMBERS = ("total", "page", "per_page", "pages")


@dataclass(frozen=True, slots=True)
class Look:
    """A response to a request of the probe: its status, headers and JSON."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: Json = field(default=None, repr=False)

    @property
    def shortfall(self) -> str:
        """The sign by which the response says that it is not whole; empty for none."""
        content = self.content
        levels = [content, *content.values()] if isinstance(content, dict) else []
        objects = [value for value in levels if isinstance(value, dict)]
        sign = stated_shortfall(objects, self.headers)
        if not sign and not stated_error(objects):
            return ""
        # The words of an error may name what the data are of.
        name, _, value = (sign or "error: true").partition(": ")
        return f"{name}: {value}" if _PLAIN.fullmatch(value) else f"{name}: true"

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    def rows(self, rows_key: str | None) -> list[dict[str, Json]]:
        """Return the rows at a path; none where there is no list of objects."""
        value = self.at(rows_key) if rows_key else None
        if not isinstance(value, list):
            return [value] if isinstance(value, dict) and value and rows_key else []
        return [row for row in value if isinstance(row, dict)]

    def at(self, path: str) -> Json:
        """Return the value at a place; None where there is nothing."""
        return next(iter(values_at(self.content, self.headers, path)), None)


def rows_place(look: Look, *, name: str, hint: str | None = None) -> str | None:
    """Return the path of the list of rows: under a usual name, else of the longest list.

    Args:
        name: the name of the endpoint, which counts as a usual name.
        hint: what the caller knows of the name.
    """
    places = {BODY: look.content, **dict(members(look.content))}
    lists = {path: value for path, value in places.items() if is_rows(value)}
    try:
        rows = find_rows(look.content, rows_key=hint, extra_name=name, single=True).rows
    except ProtocolError:
        rows = max(lists.values(), key=len, default=[])
    if (
        isinstance(look.content, dict)
        and rows
        and not any(rows is value for value in lists.values())
    ):
        # One object in place of the list.
        return next((path for path, value in places.items() if [value] == rows), None)
    return next((path for path, value in lists.items() if value is rows), None)


def _beside(content: Json, rows_key: str) -> Iterator[tuple[str, str, Json]]:
    """Yield path, name and value of the members around the rows, and in their page numbers."""
    prefix = ""
    for step in ["", *rows_key.split(".")[:-1]]:
        if step:
            content, prefix = content.get(step), f"{prefix}{step}."
        if not isinstance(content, dict):
            return
        yield from _numbers(content, prefix)


def _numbers(content: dict[str, Json], prefix: str) -> Iterator[tuple[str, str, Json]]:
    for name, value in content.items():
        yield f"{prefix}{name}", name, value
        if isinstance(value, dict) and fold(name) in PAGING:
            yield from _numbers(value, f"{prefix}{name}.")


def number_places(look: Look, rows_key: str | None) -> dict[str, Any]:
    """Return the places of the page numbers of a page that others follow, for a `PageProfile`."""
    rows = look.rows(rows_key)
    # Each member and header by itself shows what it is read as.
    single: list[tuple[str, dict[str, Json], dict[str, str]]] = [
        (path, {name: value}, {})
        for path, name, value in _beside(look.content, rows_key or "")
        # A name with a dot is no step of a path.
        # Elasticsearch's total is an object with its value.
        if not isinstance(value, list | dict)
        or (isinstance(value, dict) and value.keys() == {"value", "relation"})
        if "." not in name
    ]
    single += [(f"header {name}", {}, {name: value}) for name, value in look.headers.items()]
    places: dict[str, Any] = {}
    for place, content, headers in single:
        page_signals = signals(Found([*rows], (content,)), headers)
        for name in _NUMBERS:
            if getattr(page_signals, name) is not None:
                places.setdefault(name, place)
        if page_signals.next_sign or page_signals.end:
            value = next(iter((*content.values(), *headers.values())))
            is_flag = isinstance(value, bool) or str(value).lower() in {"true", "false"}
            places.setdefault("more" if is_flag else "next", place)
    return places
