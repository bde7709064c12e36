"""A list of JSON objects as the text it came as, with the places where it may be cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from adanalytics_client._json import Json, parse_text

_LINE_END = 0x0A
# Lines that are put together at a time; pieces of some 64 KiB stay in the processor's cache.
_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Lines:
    """At least one object, each with its own text.

    Attributes:
        text: holds the objects with one comma between each two and brackets around all, without
            line breaks; it may be the whole document, which is not copied for this.
        start: where the first object begins.
        ends: where each object ends, in rising order.
    """

    text: str = field(repr=False)
    start: int
    ends: list[int] = field(repr=False)

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Lines":
        """Put texts of objects together."""
        ends = accumulate((len(each) + 1 for each in texts), initial=0)
        return cls(f"[{','.join(texts)}]", 1, list(ends)[1:])

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> str:
        """The text of one object.

        Raises:
            IndexError: when there are not as many.
        """
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.text[self._begin(index) : self.ends[index]]

    def array(self, most: int | None = None) -> str:
        """The JSON text of the list, of its first `most` objects when they are bounded."""
        if most is None or most >= len(self):
            return self.text[self.start - 1 : self.ends[-1] + 1]
        return f"[{self.text[self.start : self.ends[most - 1]] if most else ''}]"

    def rows(self, most: int | None = None) -> list[dict[str, Json]]:
        """The objects as dicts; numbers with a fraction are Decimal.

        Raises:
            NotJson: when an object is not JSON.
        """
        rows: list[dict[str, Json]] = parse_text(self.array(most))
        return rows

    def jsonl(self, most: int | None = None) -> Iterator[bytes | bytearray]:
        """The objects, each on a line of its own, in pieces."""
        count = len(self) if most is None else min(most, len(self))
        for first in range(0, count, _AT_ONCE):
            yield self._piece(first, min(first + _AT_ONCE, count))

    def _piece(self, first: int, behind: int) -> bytes | bytearray:
        begin, ends = self._begin(first), self.ends[first:behind]
        text = self.text[begin : ends[-1]]
        if not text.isascii():
            return "".join(f"{self[index]}\n" for index in range(first, behind)).encode()
        piece = bytearray(text, "ascii")
        for end in ends[:-1]:
            piece[end - begin] = _LINE_END
        piece.append(_LINE_END)
        return piece

    def _begin(self, index: int) -> int:
        return self.ends[index - 1] + 1 if index else self.start
