"""The position of a pull between two pages, as data and as the text of a resume token."""

import base64
import binascii
import hashlib
import zlib
from datetime import date

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from adanalytics_client._base.hidden import Hidden
from adanalytics_client._base.observer import PullPlanned
from adanalytics_client.errors import ConfigurationError

from .paging import Cursor
from .plan import DateRange, Plan, Slice, in_words, slices_of

_PREFIX = "adanalytics-5."
# Of a day of another class, such as that of pendulum or freezegun, by its text.
_encode = msgspec.json.Encoder(enc_hook=str).encode


class Position(Hidden, frozen=True):
    """The position of a pull after the yielded pages.

    Attributes:
        slices: all slices of the pull, including finished ones.
        ranges: the same as runs of days.
        opened: how many of the slices were opened.
        open: the next page of each slice that was opened and is not finished.
        passed: the number of yielded events.
        arrived: the events of the yielded pages; `seen=` may have left some out.
        doubt: why the pull may be incomplete so far, in words; empty for no doubt.
        is_partial: whether only some days of the range were chosen.
        cut_day: the first day that `only_before` left out, wholly or in part.
        plan: the requests and events of the slices, if auto has just chosen them.
    """

    slices: tuple[Slice, ...] = ()
    ranges: tuple[DateRange, ...] = ()
    opened: int = 0
    open: tuple[Cursor, ...] = ()
    passed: int = 0
    arrived: int = 0
    doubt: str = ""
    is_partial: bool = False
    cut_day: date = date.max
    plan: PullPlanned | None = None

    def left(self) -> tuple[Slice, ...]:
        return (*(cursor.slice for cursor in self.open), *self.slices[self.opened :])


class _Query(Struct, frozen=True):
    """The query that a token belongs to."""

    partner: str | None
    start: date
    end: date
    hour: int | None
    split: str
    per_page: int
    params: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, plan: Plan, partner: str | None) -> "_Query":
        return cls(partner, plan.start, plan.end, plan.hour, plan.split, plan.per_page, plan.params)

    def __str__(self) -> str:
        days = Slice(self.start, self.end, self.hour)
        size = f"{self.per_page} events per page"
        return f"partner {self.partner}, {days}, {self.split}, {size}{in_words(self.params)}"


class Token(Struct, frozen=True):
    """The content of a resume token."""

    query: _Query
    position: Position

    def position_in(self, plan: Plan, partner: str | None) -> Position:
        """Return the position in a plan; refuse a token of another query."""
        query = _Query.of(plan, partner)
        if self.query != query:
            raise ConfigurationError(
                f"resume: this token belongs to {self.query}; this query is {query}.",
                remedy="Ask for the same days with the same split, page size and params.",
            )
        return replace(self.position, slices=slices_of(self.position.ranges, plan.hour))


def token_of(position: Position, plan: Plan, partner: str | None) -> str:
    """Encode a position, and the query that it belongs to, as one word of ASCII."""
    # The ranges have all days, so a token stays valid if a later version divides the range
    # differently. A later run does not know earlier attempts.
    cursors = tuple(replace(cursor, attempt=0) for cursor in position.open)
    rest = replace(position, slices=(), open=cursors, plan=None)
    text = zlib.compress(_encode(Token(_Query.of(plan, partner), rest)))
    return _PREFIX + base64.urlsafe_b64encode(_checksum(text) + text).rstrip(b"=").decode()


def read_token(token: object) -> Token:
    """Decode a token and verify its checksum; refuse any other text."""
    if isinstance(token, str) and token.startswith(_PREFIX):
        text = token.removeprefix(_PREFIX)
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        # Tokens are copied by hand; half of one must not resume somewhere else.
        if raw and _checksum(raw[6:]) == raw[:6]:
            return msgspec.json.decode(zlib.decompress(raw[6:]), type=Token)
    raise ConfigurationError(
        "resume: this is not a resume token of this version.",
        remedy="Pass the token of a Page unchanged, or leave resume= out to start over.",
    )


def _checksum(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=6).digest()
