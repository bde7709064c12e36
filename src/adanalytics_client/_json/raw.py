"""A page's events as the bytes that the service sent, all of them validated on arrival.

msgspec checks the complete grammar of RFC 8259 while it finds the end of each object, and refuses
`NaN` and lone surrogate escapes, which Python's own decoder accepts. It does not check the UTF-8
inside strings, so that is checked first, and it keeps the last of several members with one name.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import compress
from operator import itemgetter
from typing import AnyStr, NoReturn

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from adanalytics_client._base.hidden import Hidden
from adanalytics_client._base.remedies import remedy
from adanalytics_client.errors import ProtocolError

from .exact import Json, NotJson, WrongValue, parse, parse_text
from .fields import DOCUMENTED, FieldNames

LEVELS = 2
"""The most objects around a list of events if the caller did not name its place."""

PART = 250
"""Events decoded at a time: few enough for the values to stay in the processor's caches."""

MONEY = ("revenue", "cost")

_SPACES = b" \t\n\r"
_MOST_AROUND = 64 * 1024
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_LINES = msgspec.json.Decoder(msgspec.Raw)
_REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_NAME = re.compile(rb'\s*"(?:[^"\\]|\\.)*"\s*:\s*')
_AFTER_MEMBER = re.compile(rb"\s*[,}]")


class PageSource(Struct, frozen=True):
    """The source of events, for errors about them.

    Attributes:
        page: its number and query.
        url: the address asked, without secrets.
        request_id: the `X-Request-Id` of the response.
    """

    page: str = "a page"
    url: str | None = None
    request_id: str | None = None

    def sign(self, error: ProtocolError) -> ProtocolError:
        """Return the error with the address and the request id of the response."""
        error.url = error.url or self.url
        error.request_id = error.request_id or self.request_id
        return error


class RawRows(Hidden, frozen=True):
    """Events as JSON objects in UTF-8, valid and without line breaks; decoded on demand.

    Attributes:
        texts: the text of each event.
        source: their page.
        offset: index of the first event on its page.
        names: the names by which the service sends documented fields.
    """

    texts: Sequence[bytes] = ()
    source: PageSource = PageSource()
    offset: int = 0
    names: FieldNames = DOCUMENTED

    def __len__(self) -> int:
        return len(self.texts)

    def sample(self) -> dict[str, msgspec.Raw]:
        """Return the fields of the first event, as text; none if there is no event."""
        return _MEMBERS.decode(self.texts[0]) if self.texts else {}

    def first(self, limit: int | None) -> "RawRows":
        """Return the first `limit` events, or all of them."""
        return (
            self if limit is None or limit >= len(self) else replace(self, texts=self.texts[:limit])
        )

    def without(self, mask: Sequence[bool]) -> "RawRows":
        """Return the events that are not marked as gone."""
        keep = [not is_out for is_out in mask]
        in_front = next((index for index, is_kept in enumerate(keep) if is_kept), len(keep))
        texts = [*compress(self.texts, keep)]
        return replace(self, texts=texts, offset=self.offset + in_front)

    def parts(self) -> Iterator["RawRows"]:
        """Yield the same events in parts of up to `PART`."""
        for start in range(0, len(self), PART):
            yield replace(self, texts=self.texts[start : start + PART], offset=self.offset + start)

    def jsonl(self) -> bytes:
        """Return the events, each on its own line."""
        return b"\n".join([*self.texts, b""])

    def array(self) -> bytes:
        """Return the events as one JSON list."""
        return b"[%b]" % b",".join(self.texts)

    def rows(self) -> list[dict[str, Json]]:
        """Return the events as dicts; amounts and numbers with a fraction are Decimal.

        Raises:
            ProtocolError: for a number that Python cannot hold.
        """
        try:
            rows: list[dict[str, Json]] = parse_text(self.array().decode())
        except NotJson as error:
            raise self._unreadable(error) from None
        money = [self.names.sent(part, rows[0]) or part for part in MONEY] if rows else ()
        for row in rows:
            # A whole amount such as 5 would be an int among Decimals.
            for name in money:
                if row.get(name).__class__ is int:
                    row[name] = Decimal(row[name])
        return rows

    def _unreadable(self, error: NotJson) -> ProtocolError:
        event = f"An event of {self.source.page}"
        for number, text in enumerate(self.texts, self.offset + 1):
            try:
                parse_text(text.decode())
            except NotJson as reason:
                event, error = f"Event {number} of {self.source.page}", reason
                break
        return self.source.sign(
            ProtocolError(f"{event} cannot be read: {error}.", remedy=remedy("jsonl_events"))
        )


def read_page(body: bytes | bytearray, levels: int = LEVELS) -> Json:
    """Read a document like `parse`, but leave lists of objects as `RawRows`.

    Args:
        body: the document; a bytearray is kept and must not change afterwards.
        levels: the most objects, one inside the other, around such a list.

    A line break between the tokens of an event becomes a space, so that an event is one line; a
    line break inside a string is not JSON (RFC 8259, sections 2 and 7).

    Raises:
        NotJson: for anything but one valid document in UTF-8.
        ProtocolError: when an object around the events has two members with one name.
    """
    text = body
    if not text.startswith((b"{", b"[")):
        text = text.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACES)
    try:
        if not text.isascii():
            text.decode()
        page = _page_of_one_list(text, levels)
        return _value(bytes(text.rstrip(_SPACES)), levels) if page is None else page
    except _REFUSALS:
        _refuse([text])


def _refuse(documents: Iterable[bytes | bytearray]) -> NoReturn:
    """Raise the fault of documents that msgspec refuses: its own words name another place."""
    for document in documents:
        parse(document)
    # msgspec refuses nothing else that Python's decoder accepts.
    raise WrongValue("it holds a lone surrogate escape") from None


def _page_of_one_list(text: bytes | bytearray, levels: int) -> Json:
    """Return a document with brackets around its events only, read in one pass; None for any other.

    The text around the events is a document if an empty list replaces them. Its only bracket opens
    that list, or is part of a string, and then no list is found.
    """
    start, end = text.find(b"["), text.rfind(b"]")
    # Most pages are one list in a small object, so the rest is read apart from the events.
    frame = bytes(text[: start + 1] + text[max(end, 0) :].rstrip(_SPACES))
    if start < 0 or len(frame) > _MOST_AROUND:
        return None
    try:
        events = _rows_of(_ELEMENTS.decode(memoryview(text)[start : end + 1]))
    except msgspec.DecodeError:
        return None
    if events is None:
        return None
    # JSON lines have one event per line, so line ends inside an event are taken out.
    if any(text.find(mark, start, end) >= 0 for mark in (b"\n", b"\r")):
        events = RawRows([*map(_on_one_line, events.texts)])
    return _with_events(_value(frame, levels), events, levels)


def _with_events(value: Json, events: RawRows, levels: int) -> Json:
    """Return a document with `events` in place of its only list, an empty one; else None."""
    if value == []:
        return events
    if isinstance(value, dict) and levels:
        for name, member in value.items():
            if (page := _with_events(member, events, levels - 1)) is not None:
                return {**value, name: page}
    return None


def read_jsonl(lines: bytes) -> RawRows | None:
    """Read JSON lines; None if one of them is not an object.

    Raises:
        NotJson: for anything but JSON in UTF-8.
    """
    try:
        if not lines.isascii():
            lines.decode()
        return _rows_of(_LINES.decode_lines(lines)) if lines else RawRows()
    except _REFUSALS:
        _refuse(line for line in lines.split(b"\n") if line.strip())


def _rows_of(elements: list[msgspec.Raw]) -> RawRows | None:
    """Return the events of a list, or None for a list that is empty or contains anything else."""
    # In C: a Python loop over all events costs a third of the time to read them.
    texts = [*map(bytes, elements)]
    return RawRows(texts) if {*map(itemgetter(0), texts)} == {*b"{"} else None


def _value(text: bytes | msgspec.Raw, levels: int) -> Json:
    first_byte = bytes(memoryview(text)[:1])
    if first_byte == b"{" and levels:
        members = _MEMBERS.decode(text)
        _check_names(bytes(text), members)
        return {name: _value(member, levels - 1) for name, member in members.items()}
    if first_byte == b"[":
        events = _rows_of(_ELEMENTS.decode(text))
        if events is not None:
            return RawRows([*map(_on_one_line, events.texts)])
    return parse(bytes(text))


def _check_names(text: bytes, members: dict[str, msgspec.Raw]) -> None:
    """Refuse an object with repeated member names: one of the members would be lost.

    Raises:
        ProtocolError: naming the first repeated one.
    """
    position = 1
    for value in members.values():
        begin = _end_of(_NAME, text, position)
        match = text.startswith(bytes(value), begin) and _AFTER_MEMBER.match(
            text, begin + len(memoryview(value))
        )
        if not match:
            break
        position = match.end()
    if members and text[position - 1 : position] != b"}":
        name = text[position : _end_of(_NAME, text, position)].decode().strip(" \t\n\r:")
        raise ProtocolError(
            f"The answer has {name} twice in one object, so one of the two would be lost.",
            remedy="Report it to the service.",
        )


def _end_of(pattern: "re.Pattern[AnyStr]", text: AnyStr, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _on_one_line(text: bytes) -> bytes:
    return text.replace(b"\n", b" ").replace(b"\r", b" ")
