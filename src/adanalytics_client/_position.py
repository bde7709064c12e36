"""Where a pull stands between two pages, as data and as the text of a resume token."""

import base64
import binascii
import hashlib
import json
import textwrap
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from adanalytics_client._event_ids import DIGEST, tail_of
from adanalytics_client._pages import Cursor
from adanalytics_client._plan import Plan
from adanalytics_client._slices import Slice, Stretch, slices_of
from adanalytics_client.errors import ConfigurationError

_PREFIX = "adanalytics-1."


@dataclass(frozen=True, slots=True)
class Position:
    """What of a pull is left after the pages that were handed out.

    Attributes:
        slices: all slices of the pull, also those that are done.
        stretches: the same as runs of days.
        begun: how many of the slices were begun.
        open: the next page of each slice that was begun and is not done.
        passed: events that were handed out.
    """

    slices: tuple[Slice, ...] = field(repr=False)
    stretches: tuple[Stretch, ...] = field(repr=False)
    begun: int = 0
    open: tuple[Cursor, ...] = ()
    passed: int = 0

    def left(self) -> tuple[Slice, ...]:
        """The slices that still need requests."""
        return (*(each.slice for each in self.open), *self.slices[self.begun :])


def token_of(position: Position, plan: Plan, partner: str | None) -> str:
    """A position as one word of ASCII that names the query it belongs to.

    The days of an open slice and the stretches are written out, so that the token stays valid
    whatever a later version would choose for the same range.
    """
    content = {
        "query": _query(plan, partner),
        "stretches": [[str(x.start), str(x.end), x.cut] for x in position.stretches],
        "begun": position.begun,
        "open": [_from_cursor(cursor) for cursor in position.open],
        "passed": position.passed,
    }
    text = json.dumps(content, separators=(",", ":")).encode()
    return _PREFIX + base64.urlsafe_b64encode(_check(text) + text).rstrip(b"=").decode()


def position_of(token: object, plan: Plan, partner: str | None) -> Position:
    """Read a token for the query that `plan` and `partner` make.

    Raises:
        ConfigurationError: for a text that is no token, and for a token of another query.
    """
    content = _content(token)
    theirs, ours = content["query"], _query(plan, partner)
    if theirs != ours:
        raise ConfigurationError(
            f"resume: this token belongs to {_told(theirs)}; this query is {_told(ours)}. "
            "Ask for the same days with the same split and page size."
        )
    stretches = tuple(
        Stretch(date.fromisoformat(start), date.fromisoformat(end), cut)
        for start, end, cut in content["stretches"]
    )
    return Position(
        slices=slices_of(stretches, plan.hour),
        stretches=stretches,
        begun=content["begun"],
        open=tuple(_to_cursor(each) for each in content["open"]),
        passed=content["passed"],
    )


def page_size_of(token: object) -> int:
    """The events of a page of the pull that a token belongs to.

    Raises:
        ConfigurationError: for a text that is no token.
    """
    *_, size = _content(token)["query"]
    return int(size)


def _query(plan: Plan, partner: str | None) -> list[Any]:
    return [partner, str(plan.start), str(plan.end), plan.hour, plan.split, plan.per_page]


def _told(query: list[Any]) -> str:
    partner, start, end, hour, split, per_page = query
    hours = "" if hour is None else f" hour {hour}"
    return f"partner {partner}, {start}..{end}{hours}, {split}, {per_page} events a page"


def _check(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=6).digest()


def _content(token: object) -> dict[str, Any]:
    """The content of a token, which the check sum vouches for."""
    if isinstance(token, str) and token.startswith(_PREFIX):
        packed = token.removeprefix(_PREFIX)
        try:
            raw = base64.b64decode(packed + "=" * (-len(packed) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if raw and _check(raw[6:]) == raw[:6]:
            content: dict[str, Any] = json.loads(raw[6:])
            return content
    raise ConfigurationError(
        "resume: this is no resume token of this version; pass the token of a Page as it was, "
        "or leave resume= out to begin anew."
    )


def _from_cursor(cursor: Cursor) -> list[Any]:
    place = [str(cursor.slice.start), str(cursor.slice.end), cursor.slice.hour, cursor.number]
    known = [cursor.seen, cursor.mark, cursor.repeated, cursor.total]
    return [*place, *known, "".join(tail_of(cursor)), cursor.handed, cursor.least]


def _to_cursor(fields: list[Any]) -> Cursor:
    start, end, hour, number, seen, mark, repeated, total, tail, *later = fields
    # A token of an earlier version ends here; without sizes to compare, only an empty page ends.
    handed, least = later or (0, 1)
    return Cursor(
        Slice(date.fromisoformat(start), date.fromisoformat(end), hour),
        number,
        seen,
        mark,
        repeated,
        total,
        tail=tuple(textwrap.wrap(tail, DIGEST)),
        handed=handed,
        least=least,
    )
