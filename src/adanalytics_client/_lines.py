"""A list of JSON objects as the bytes it came as, cut at the borders between them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from adanalytics_client._json import Json, parse


@dataclass(frozen=True, slots=True)
class Lines:
    """At least one object, each with its own text in UTF-8 and without line breaks.

    Attributes:
        parts: each object without what all of them begin and end with.
        head: what each of them begins with.
        tail: what each of them ends with.
    """

    parts: list[bytes] = field(repr=False)
    head: bytes = b""
    tail: bytes = b""

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Lines":
        """Put texts of objects together."""
        return cls([each.encode() for each in texts])

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: int) -> str:
        """The text of one object.

        Raises:
            IndexError: when there are not as many.
        """
        if index < 0:
            raise IndexError(index)
        return (self.head + self.parts[index] + self.tail).decode()

    def __contains__(self, text: str) -> bool:
        """Whether one of the objects has this very text."""
        found, beside = text.encode(), len(self.head) + len(self.tail)
        if not (found.startswith(self.head) and found.endswith(self.tail) and len(found) >= beside):
            return False
        return found[len(self.head) : len(found) - len(self.tail)] in self.parts

    def between(self, first: int, behind: int) -> "Lines":
        """The objects from `first` up to, not including, `behind`."""
        return replace(self, parts=self.parts[first:behind])

    def array(self, most: int | None = None) -> bytes:
        """The JSON text of the list, of its first `most` objects when they are bounded."""
        return b"[%b]" % self._joined(b",", b"", most)

    def rows(self, most: int | None = None) -> list[dict[str, Json]]:
        """The objects as dicts; numbers with a fraction are Decimal.

        Raises:
            NotJson: when an object is not JSON.
        """
        rows: list[dict[str, Json]] = parse(self.array(most))
        return rows

    def jsonl(self, most: int | None = None) -> bytes:
        """The objects, each on a line of its own."""
        return self._joined(b"\n", b"\n", most)

    def spans(self) -> tuple[str, list[int]]:
        """The text of the list, and where in it each object ends; the first begins at 1."""
        text, beside = self.array().decode(), len(self.head) + len(self.tail) + 1
        parts = self.parts if text.isascii() else [each.decode() for each in self.parts]
        return text, list(accumulate(map(beside.__add__, map(len, parts))))

    def _joined(self, between: bytes, behind: bytes, most: int | None) -> bytes:
        """All in one go: a long text is not copied a second time to put something around it."""
        parts = self.parts[:most]
        if not parts:
            return b""
        parts[0] = self.head + parts[0]
        parts[-1] += self.tail + behind
        return (self.tail + between + self.head).join(parts)
