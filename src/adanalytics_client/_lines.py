"""A list of JSON objects as the text it came as, with the places where it may be cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from adanalytics_client._json import Json, parse_text

_COMMA, _LINE_END = 0x2C, 0x0A


@dataclass(frozen=True, slots=True)
class Lines:
    """At least one object, each with its own text.

    Attributes:
        text: the objects with one comma between each two, without line breaks.
        cuts: where these commas are, in rising order.
    """

    text: str
    cuts: list[int]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Lines":
        """Put texts of objects together."""
        ends = accumulate((len(each) + 1 for each in texts), initial=-1)
        return cls(",".join(texts), list(ends)[1:-1])

    def __len__(self) -> int:
        return len(self.cuts) + 1

    def __getitem__(self, index: int) -> str:
        """The text of one object.

        Raises:
            IndexError: when there are not as many.
        """
        if not 0 <= index < len(self):
            raise IndexError(index)
        start = self.cuts[index - 1] + 1 if index else 0
        return self.text[start : self._end(index + 1)]

    def array(self, most: int | None = None) -> str:
        """The JSON text of the list, of its first `most` objects when they are bounded."""
        return f"[{self.text[: self._end(most)]}]"

    def rows(self, most: int | None = None) -> list[dict[str, Json]]:
        """The objects as dicts; numbers with a fraction are Decimal.

        Raises:
            NotJson: when an object is not JSON.
        """
        rows: list[dict[str, Json]] = parse_text(self.array(most))
        return rows

    def jsonl(self, most: int | None = None) -> bytes:
        """The objects, each on a line of its own."""
        end = self._end(most)
        text = self.text[:end]
        if not text.isascii():
            texts = [self[index] for index in range(len(self) if most is None else most)]
            return ("\n".join(texts) + "\n").encode()
        lines = bytearray(text, "ascii")
        for cut in self.cuts if most is None else self.cuts[: most - 1]:
            lines[cut] = _LINE_END
        lines.append(_LINE_END)
        return bytes(lines)

    def _end(self, most: int | None) -> int:
        """Where the first `most` objects end."""
        return len(self.text) if most is None or most > len(self.cuts) else self.cuts[most - 1]
