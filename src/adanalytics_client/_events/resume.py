"""The position of a pull between two pages, as data and as the text of a resume token."""

import base64
import binascii
import hashlib
import json
from dataclasses import astuple, dataclass, field
from datetime import date
from typing import Any

from adanalytics_client._base.observer import PullPlanned
from adanalytics_client._events.paging import Cursor
from adanalytics_client._events.plan import DateRange, Plan, Slice, slices_of
from adanalytics_client.errors import ConfigurationError

_PREFIX = "adanalytics-3."


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a pull after the yielded pages.

    Attributes:
        slices: all slices of the pull, including finished ones.
        ranges: the same as runs of days.
        opened: how many of the slices were opened.
        open: the next page of each slice that was opened and is not finished.
        passed: the number of yielded events.
        total: the events of all slices, if an earlier answer stated them.
        arrived: the events of the yielded pages; `seen=` may have left some out.
        bodiless: the places of slices whose answers had no body; the end of the pull checks them.
        by_day: the events of the days that this check may need.
        planned: the requests and events of the slices, if auto has just chosen them.
    """

    slices: tuple[Slice, ...] = field(default=(), repr=False)
    ranges: tuple[DateRange, ...] = field(default=(), repr=False)
    opened: int = 0
    open: tuple[Cursor, ...] = ()
    passed: int = 0
    total: int | None = None
    arrived: int = 0
    bodiless: tuple[int, ...] = ()
    by_day: tuple[tuple[date, int], ...] = ()
    planned: PullPlanned | None = field(default=None, repr=False)

    def left(self) -> tuple[Slice, ...]:
        """List the slices that still need requests."""
        return (*(each.slice for each in self.open), *self.slices[self.opened :])


def token_of(position: Position, plan: Plan, partner: str | None) -> str:
    """Encode a position, and the query that it belongs to, as one word of ASCII."""
    # With all days written out, a token stays valid if a later version divides the range
    # differently.
    content = {
        "query": _query(plan, partner),
        "ranges": [[str(x.start), str(x.end), x.cut, x.hours] for x in position.ranges],
        "opened": position.opened,
        "open": [_fields(cursor) for cursor in position.open],
        "passed": position.passed,
        "total": position.total,
        "arrived": position.arrived,
        "bodiless": position.bodiless,
        "by_day": [[str(day), events] for day, events in position.by_day],
    }
    text = json.dumps(content, separators=(",", ":")).encode()
    return _PREFIX + base64.urlsafe_b64encode(_checksum(text) + text).rstrip(b"=").decode()


def position_of(token: object, plan: Plan, partner: str | None) -> Position:
    """Read a token for the query of `plan` and `partner`.

    Raises:
        ConfigurationError: for a text that is not a token, and for a token of another query.
    """
    content = _content(token)
    theirs, ours = content["query"], _query(plan, partner)
    if theirs != ours:
        raise ConfigurationError(
            f"resume: this token belongs to {_in_words(theirs)}; this query is {_in_words(ours)}.",
            remedy="Ask for the same days with the same split and page size.",
        )
    ranges = tuple(
        DateRange(date.fromisoformat(start), date.fromisoformat(end), *cut)
        for start, end, *cut in content["ranges"]
    )
    return Position(
        slices=slices_of(ranges, plan.hour),
        ranges=ranges,
        opened=content["opened"],
        open=tuple(_to_cursor(each) for each in content["open"]),
        passed=content["passed"],
        total=content["total"],
        arrived=content["arrived"],
        bodiless=tuple(content["bodiless"]),
        by_day=tuple((date.fromisoformat(day), events) for day, events in content["by_day"]),
    )


def page_size_of(token: object) -> int:
    """Return the page size of the pull that a token belongs to.

    Raises:
        ConfigurationError: for a text that is not a token.
    """
    *_, size = _content(token)["query"]
    return int(size)


def _query(plan: Plan, partner: str | None) -> list[Any]:
    return [partner, str(plan.start), str(plan.end), plan.hour, plan.split, plan.per_page]


def _in_words(query: list[Any]) -> str:
    partner, start, end, hour, split, per_page = query
    hours = "" if hour is None else f" hour {hour}"
    return f"partner {partner}, {start}..{end}{hours}, {split}, {per_page} events per page"


def _checksum(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=6).digest()


def _content(token: object) -> dict[str, Any]:
    """Decode a token and verify its checksum."""
    if isinstance(token, str) and token.startswith(_PREFIX):
        packed = token.removeprefix(_PREFIX)
        try:
            raw = base64.b64decode(packed + "=" * (-len(packed) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if raw and _checksum(raw[6:]) == raw[:6]:
            content: dict[str, Any] = json.loads(raw[6:])
            return content
    raise ConfigurationError(
        "resume: this is not a resume token of this version.",
        remedy="Pass the token of a Page unchanged, or leave resume= out to start over.",
    )


def _fields(cursor: Cursor) -> list[Any]:
    """List the fields of a cursor; a later run does not know earlier attempts."""
    (start, end, hour), *others, _attempt = astuple(cursor)
    return [str(start), str(end), hour, *others]


def _to_cursor(fields: list[Any]) -> Cursor:
    start, end, hour, *others = fields
    return Cursor(Slice(date.fromisoformat(start), date.fromisoformat(end), hour), *others)
