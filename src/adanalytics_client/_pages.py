"""Pages of events: the one to ask for next, one that arrived, and those that users get."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from adanalytics_client._hooks import PartialAnswer
from adanalytics_client._json import Json, NotJson, parse_text
from adanalytics_client._lines import Lines
from adanalytics_client._rows import Found, with_money
from adanalytics_client._signals import Signals, signals
from adanalytics_client._slices import Slice
from adanalytics_client.errors import ProtocolError


@dataclass(frozen=True, slots=True)
class Cursor:
    """The next page of a slice to ask for, and what the pages before it taught.

    Attributes:
        slice: the query.
        number: the page, from 1.
        seen: events on the pages before.
        mark: fingerprint of the page before.
        repeated: events on the pages before that came more than once.
        total: what the page before said of the number of events.
        before: the page before, as it came.
        tail: digests of its last ids, where a token is all that is left of it.
        handed: how many of this page's own events were handed out.
        front: those events, as they came.
        least: events that this page needs for another one to follow, where nothing else tells.
    """

    slice: Slice
    number: int = 1
    seen: int = 0
    mark: str = ""
    repeated: int = 0
    total: int | None = None
    before: "Fetched | None" = field(default=None, repr=False, compare=False)
    tail: tuple[str, ...] = field(default=(), repr=False)
    handed: int = 0
    least: int = 1
    front: "Fetched | None" = field(default=None, repr=False, compare=False)

    def parameters(self, per_page: int) -> dict[str, str]:
        """The query parameters of this page, all of them documented ones."""
        return {**self.slice.parameters(), "page": str(self.number), "per_page": str(per_page)}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a page came from, for errors that show when its events are read.

    Attributes:
        page: its number and query.
        url: the address asked, without secrets.
        request_id: the service's name for the exchange.
    """

    page: str = "a page"
    url: str | None = None
    request_id: str | None = None

    def sign(self, error: ProtocolError) -> ProtocolError:
        """The error with what a person needs to find the answer."""
        error.url = error.url or self.url
        error.request_id = error.request_id or self.request_id
        return error


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page that arrived: its events as text, what it says, and its fingerprint.

    Events are read from their text when they are asked for, so that pages that wait are small.

    Attributes:
        before: events of the same page in front of these, where they are a part of it.
        partial: what the answer says of an error beside the events.
    """

    found: Found
    signals: Signals
    mark: str
    origin: Origin = Origin()
    before: int = 0
    partial: PartialAnswer | None = None

    def __len__(self) -> int:
        return len(self.found)

    @property
    def lines(self) -> Lines | None:
        """The events as text; None when there are none."""
        return self.found.rows if isinstance(self.found.rows, Lines) else None

    def jsonl(self, most: int | None = None) -> bytes:
        """The events, or the first `most`, as JSON lines."""
        lines = self.upto(most)
        return lines.jsonl() if lines else b""

    def upto(self, most: int | None) -> Lines | None:
        """The events, or the first `most`, as text; None when there are none."""
        return None if most == 0 or self.lines is None else self.lines.upto(most)

    def rows(self, most: int | None = None) -> list[dict[str, Json]]:
        """The events, or the first `most`, as dicts in which amounts are Decimal.

        Raises:
            ProtocolError: when an event is not JSON.
        """
        if not isinstance(self.found.rows, Lines):
            return self.found.rows[:most]
        lines = self.upto(most)
        try:
            rows = lines.rows() if lines else []
        except NotJson as error:
            raise self._not_json(lines or (), self.before, error) from None
        with_money(rows)
        return rows

    def last_rows(self, most: int) -> list[dict[str, Json]]:
        """The last events, up to so many, as they were sent.

        Raises:
            ProtocolError: when one of them is not JSON.
        """
        texts = self.lines.last(most) if self.lines else []
        try:
            return [parse_text(each) for each in texts]
        except NotJson as error:
            raise self._not_json(texts, self.before + len(self) - len(texts), error) from None

    def _not_json(self, texts: Iterable[str], before: int, error: NotJson) -> ProtocolError:
        """The error for the first of some events that cannot be read."""
        which = f"An event of {self.origin.page}"
        for number, text in enumerate(texts, before + 1):
            try:
                parse_text(text)
            except NotJson as its_own:
                which, error = f"Event {number} of {self.origin.page}", its_own
                break
        return self.origin.sign(ProtocolError(f"{which} is not JSON: {error}."))


def fetched(found: Found, headers: Mapping[str, str]) -> Fetched:
    """Read what an answer says about pages, and take its fingerprint."""
    return Fetched(found, signals(found, headers), fingerprint(found))


def fingerprint(found: Found) -> str:
    """A digest of text spread over the page; with its length it tells most pages apart.

    Pages that share all of it are compared closely; reading only this much keeps it off the cost of
    a page.
    """
    rows = found.rows
    digest = hashlib.blake2b(str(len(rows)).encode(), digest_size=16)
    texts = rows.excerpts() if isinstance(rows, Lines) else [repr(rows).encode()]
    for each in texts:
        digest.update(each)
    return digest.hexdigest()
