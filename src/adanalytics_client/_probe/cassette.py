"""The responses of a probe as a cassette of VCR, with other values of the same type and length.

A cassette is YAML, of which JSON is a part: https://vcrpy.readthedocs.io/.
"""

import re
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from hashlib import shake_256
from typing import Any, TypeVar
from urllib.parse import urlsplit

from adanalytics_client._base.dates import ISO_DAY
from adanalytics_client._base.effects import Effect, Operation, Reply, Request, Send
from adanalytics_client._json.exact import Json, NotJson, json_text, parse
from adanalytics_client._json.rows import BODY

from .places import Look, number_places, rows_place

T = TypeVar("T")
ORIGIN, PARTNER = "http://service.example", "partner"
"""Where the requests of a cassette go, in place of the service and the partner."""

_API = re.compile(r"/api/partners/[^/?]+/ad-analytics/([^?]*)")
_PUBLIC_HEADERS = frozenset({"content-type", "date"})
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:)(.*?)((?:Z|[+-]\d\d(?::?\d\d)?)?)", re.ASCII | re.DOTALL
)
_EPOCH = re.compile(r"1\d{9}(?=$|[\d.])", re.ASCII)
# Hexadecimal, so that a UUID stays one.
_LETTERS = ("abcdef", "ABCDEF")


def recorded(operation: Operation[T], cassette: "Cassette") -> Operation[T]:
    """Run an operation, and keep the responses that it reads from memory."""
    step: Callable[[], Effect] = partial(next, operation)
    while True:
        try:
            effect = step()
        except StopIteration as end:
            result: T = end.value
            return result
        try:
            outcome = yield effect
        except BaseException as error:  # noqa: BLE001  # thrown into the operation
            step = partial(operation.throw, error)
            continue
        if isinstance(effect, Send) and isinstance(outcome, Reply):
            cassette.add(effect.request, outcome)
        step = partial(operation.send, outcome)


@dataclass(slots=True)
class Cassette:
    """The requests of a probe and their responses, without values of the data.

    A value has the same replacement wherever it is; the key to that is forgotten with this object.
    """

    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _interactions: list[dict[str, Any]] = field(default_factory=list, repr=False)

    def add(self, request: Request, reply: Reply) -> None:
        """Keep a response of the Partner API; a login and a file are left out."""
        address = urlsplit(request.url)
        if not (path := _API.search(address.path)):
            return
        resource, *rest = path[1].split("/")
        # Of an export, path and query may be signed; the others are those that the probe made.
        query = "" if rest or not address.query else f"?{address.query}"
        steps = "/".join([resource, *map(self._letters, rest)])
        headers = reply.head.headers
        public = set()
        try:
            content = parse(reply.body) if reply.body else None
        except NotJson:
            body = self._letters(reply.body.decode("utf-8", "replace"))
        else:
            look = Look(reply.status, headers, content)
            public = {*number_places(look, rows_place(look, name=resource)).values()}
            body = json_text(self._replaced(content, BODY, public)) if reply.body else ""
        response = {
            "status": {"code": reply.status, "message": ""},
            "headers": {
                name: [
                    value
                    if name in _PUBLIC_HEADERS or (f"header {name}" in public and value.isdecimal())
                    else self._letters(value)
                ]
                for name, value in headers.items()
                # Of the body as it was sent.
                if name not in {"content-length", "content-encoding", "transfer-encoding"}
            },
            "body": {"string": body},
        }
        request_entry: dict[str, object] = {
            "method": request.method,
            "uri": f"{ORIGIN}/api/partners/{PARTNER}/ad-analytics/{steps}{query}",
            "body": None if request.body is None else request.body.decode(),
            "headers": {},
        }
        self._interactions.append({"request": request_entry, "response": response})

    def text(self) -> str:
        """Return the text of the file."""
        return json_text({"version": 1, "interactions": self._interactions}) + "\n"

    def _replaced(self, content: Json, path: str, public: Collection[str]) -> Json:
        """Replace the values of a response, but for its page numbers; the names of members stay."""
        # Page numbers tell how the service divides lists, and nothing about its data.
        if path in public and not isinstance(content, str | dict | list):
            return content
        if isinstance(content, dict):
            prefix = "" if path == BODY else f"{path}."
            return {
                name: self._replaced(value, f"{prefix}{name}", public)
                for name, value in content.items()
            }
        if isinstance(content, list):
            return [self._row(value) for value in content]
        return self._value(content)

    def _row(self, row: Json) -> Json:
        """Replace all values of a row; names within its values are values, too."""
        if not isinstance(row, dict):
            return self._value(row)
        return {name: self._value(value) for name, value in row.items()}

    def _value(self, value: Json) -> Json:
        if isinstance(value, dict):
            return {self._value(name): self._value(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self._value(entry) for entry in value]
        if isinstance(value, str):
            return value if ISO_DAY.fullmatch(value) else self._scrambled(value)
        # Flags and counters of 0 or 1 have no other values.
        if value is None or isinstance(value, bool) or value in (0, 1):
            return value
        text = self._scrambled(json_text(value))
        # No number begins with a zero before another digit.
        text = re.sub(r"^(-?)0(?=\d)", r"\g<1>1", text)
        return Decimal(text) if isinstance(value, Decimal) else int(text)

    def _scrambled(self, text: str) -> str:
        """Return other letters and digits; a time stays in its hour."""
        if time := _TIME.fullmatch(text):
            hour, clock, zone = time.groups()
            # So that minutes and seconds stay below 60.
            return hour + self._letters(clock, digits="012345") + zone
        if epoch := _EPOCH.match(text):
            seconds = int(epoch[0])
            moment = seconds - seconds % 3600 + self._noise(text)[0] * 14
            return f"{moment}{self._letters(text[10:])}"
        return self._letters(text)

    def _letters(self, text: str, digits: str = "0123456789") -> str:
        return "".join(map(partial(_other, digits), text, self._noise(text)))

    def _noise(self, text: str) -> bytes:
        return shake_256(self._key + text.encode("utf-8", "surrogatepass")).digest(len(text) + 2)


def _other(digits: str, character: str, byte: int) -> str:
    for alphabet in (*_LETTERS, digits):
        if character in alphabet:
            return alphabet[byte % len(alphabet)]
    # Of any other letter only that it is one stays.
    return "abcdef"[byte % 6] if character.isalpha() else character
