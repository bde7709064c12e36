"""A list of JSON objects as the bytes it came as, each object on a line of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from adanalytics_client._json import Json, parse

CHUNK = 1_000
"""The most objects in one chunk."""

_EXCERPTS = 16
_SIGN = 64


@dataclass(frozen=True, slots=True)
class Lines:
    """At least one object, each with its own text in UTF-8 and without line breaks.

    The text stays in pieces of about the size in which it arrived: putting a page together costs as
    much as receiving it, and who writes lines has no need of that.

    Attributes:
        chunks: lines with their line breaks, up to `CHUNK` of them in each.
        counts: how many lines each chunk has.
    """

    chunks: Sequence[bytes] = field(repr=False)
    counts: Sequence[int]

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> "Lines":
        """Put texts of objects together."""
        groups = [texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK)]
        return cls([b"\n".join([*each, b""]) for each in groups], [*map(len, groups)])

    def __len__(self) -> int:
        return sum(self.counts)

    def __iter__(self) -> Iterator[str]:
        """The text of each object."""
        for chunk in self.chunks:
            yield from chunk[:-1].decode().split("\n")

    def __contains__(self, text: str) -> bool:
        """Whether one of the objects has this very text."""
        line = text.encode() + b"\n"
        return any(_has(each, line) for each in self.chunks)

    @property
    def first(self) -> str:
        """The text of the first object."""
        return self.chunks[0].partition(b"\n")[0].decode()

    def last(self, most: int) -> list[str]:
        """The texts of the last objects, up to so many."""
        found: list[bytes] = []
        for chunk in reversed(self.chunks):
            missing = most - len(found)
            found = chunk.rsplit(b"\n", missing + 1)[:-1][-missing:] + found
            if len(found) == most:
                break
        return [each.decode() for each in found]

    def upto(self, most: int | None) -> "Lines":
        """The first `most` objects, at least one; all of them when `most` is None."""
        if most is None or most >= len(self):
            return self
        chunks: list[bytes] = []
        for chunk, behind in zip(self.chunks, accumulate(self.counts), strict=True):
            if behind >= most:
                kept = most - sum(self.counts[: len(chunks)])
                chunks.append(b"\n".join([*chunk.split(b"\n", kept)[:kept], b""]))
                return Lines(chunks, [*self.counts[: len(chunks) - 1], kept])
            chunks.append(chunk)
        return self

    def parts(self) -> Iterator["Lines"]:
        """The chunks, each as lines of its own."""
        for chunk, count in zip(self.chunks, self.counts, strict=True):
            yield Lines([chunk], [count])

    def excerpts(self) -> Iterator[bytes]:
        """Pieces of the text spread over all of it, the same wherever its chunks begin.

        Each is as long as two objects on the average, so that it hardly misses the id of one.
        """
        size = sum(map(len, self.chunks))
        width = 2 * size // len(self)
        for at in (*range(0, size, size // _EXCERPTS + 1), max(0, size - width)):
            yield from self._text(at, width)

    def _text(self, at: int, size: int) -> Iterator[bytes]:
        for chunk in self.chunks:
            if at < len(chunk):
                piece = chunk[at : at + size]
                yield piece
                at, size = 0, size - len(piece)
            else:
                at -= len(chunk)

    def array(self) -> bytes:
        """The JSON text of the list."""
        joined = self.jsonl().replace(b"\n", b",")
        return b"".join((b"[", memoryview(joined)[:-1], b"]"))

    def rows(self) -> list[dict[str, Json]]:
        """The objects as dicts; numbers with a fraction are Decimal.

        Raises:
            NotJson: when an object is not JSON.
        """
        rows: list[dict[str, Json]] = parse(self.array())
        return rows

    def jsonl(self) -> bytes:
        """The objects, each on a line of its own."""
        return self.chunks[0] if len(self.chunks) == 1 else b"".join(self.chunks)


def _has(chunk: bytes, line: bytes) -> bool:
    # Preparing the search for a long text takes longer than the search.
    sign = b"\n" + line[:_SIGN]
    at = 0 if chunk.startswith(line) else chunk.find(sign) + 1
    while at > 0 and not chunk.startswith(line, at):
        at = chunk.find(sign, at) + 1
    return chunk.startswith(line, at)
