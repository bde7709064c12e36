"""A list of JSON objects as the bytes it came as, each object on a line of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from adanalytics_client._json import Json, parse_text

CHUNK = 250
"""The most objects in one part; what is made of them stays near the processor until it is used."""

_EXCERPTS = 16


@dataclass(frozen=True, slots=True)
class Lines:
    """At least one object, each with its own text in UTF-8 and without line breaks.

    They lie where they arrived, with whatever came before and behind them: a copy of a page costs
    as much as receiving it, and who writes lines has no need of one.

    Attributes:
        text: lines with their line breaks, and more around them; nobody changes it any more.
        marks: where in it the first line begins, and each one that `CHUNK` others precede since
            then; and where the last line ends.
        count: how many lines there are.
    """

    text: bytes | bytearray = field(repr=False)
    marks: Sequence[int] = field(repr=False)
    count: int

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> "Lines":
        """Put texts of objects together."""
        ends = [0, *accumulate(len(each) + 1 for each in texts)]
        return cls(b"\n".join([*texts, b""]), [*ends[:-1:CHUNK], ends[-1]], len(texts))

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[str]:
        """The text of each object."""
        for start, behind in pairwise(self.marks):
            yield from self.text[start : behind - 1].decode().split("\n")

    def __contains__(self, text: str) -> bool:
        """Whether one of the objects has this very text."""
        line, (begin, *_, end) = text.encode() + b"\n", self.marks
        if self.text.startswith(line, begin, end):
            return True
        return self.text.find(b"\n" + line, begin, end) >= 0

    @property
    def view(self) -> memoryview:
        """The lines where they lie."""
        return memoryview(self.text)[self.marks[0] : self.marks[-1]]

    @property
    def first(self) -> str:
        """The text of the first object."""
        begin = self.marks[0]
        return self.text[begin : self.text.index(b"\n", begin)].decode()

    def last(self, most: int) -> list[str]:
        """The texts of the last objects, up to so many."""
        start, (begin, *_, end) = self.marks[-1], self.marks
        for _ in range(min(most, self.count)):
            start = self.text.rfind(b"\n", begin, start - 1) + 1 or begin
        return self.text[start : end - 1].decode().split("\n")

    def upto(self, most: int | None) -> "Lines":
        """The first `most` objects, at least one; all of them when `most` is None."""
        if most is None or most >= self.count:
            return self
        whole, rest = divmod(most, CHUNK)
        marks = [*self.marks[: whole + 1]]
        if rest:
            end = marks[-1]
            for _ in range(rest):
                end = self.text.index(b"\n", end) + 1
            marks.append(end)
        return Lines(self.text, marks, most)

    def parts(self) -> Iterator["Lines"]:
        """The same objects, up to `CHUNK` at a time."""
        for number, ends in enumerate(pairwise(self.marks)):
            yield Lines(self.text, ends, min(CHUNK, self.count - number * CHUNK))

    def excerpts(self) -> Iterator[memoryview]:
        """Pieces of the text spread over all of it, the same whatever lies around it.

        Each is as long as two objects on the average, so that it hardly misses the id of one.
        """
        view = self.view
        size = len(view)
        width = 2 * size // self.count
        for at in (*range(0, size, size // _EXCERPTS + 1), max(0, size - width)):
            yield view[at : at + width]

    def array(self) -> bytes:
        """The JSON text of the list."""
        joined = self.jsonl().replace(b"\n", b",")
        return b"".join((b"[", memoryview(joined)[:-1], b"]"))

    def rows(self) -> list[dict[str, Json]]:
        """The objects as dicts; numbers with a fraction are Decimal.

        Raises:
            NotJson: when an object is not JSON.
        """
        rows: list[dict[str, Json]] = parse_text(self.array().decode())
        return rows

    def jsonl(self) -> bytes:
        """The objects, each on a line of its own."""
        return bytes(self.view)
