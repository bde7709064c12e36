"""Tell a status from the file that comes in its place, from as little of it as tells them apart."""

from codecs import BOM_UTF8
from dataclasses import dataclass
from enum import Enum

from adanalytics_client._event_documents import (
    LINES_OF_JSON,
    is_lines,
    is_ordered,
    names_events,
)
from adanalytics_client._export_words import is_address
from adanalytics_client._fold import fold
from adanalytics_client._instead import (
    BINARY,
    LARGEST_ANSWER,
    Arrival,
    Wanted,
    came_instead,
    is_loose,
    is_word,
)
from adanalytics_client._json import Json, NotJson, parse, parse_text
from adanalytics_client._media_types import is_json

# A line of text that is longer is one of a file.
_LONGEST_LINE = 4096
_LONGEST_WORDS = 120
_NEVER_JSON = frozenset({"csv", "parquet"})
_MAYBE_LINES = LINES_OF_JSON | {"json"}


class Arrived(Enum):
    """What came and is no answer.

    Attributes:
        FILE: the file of the export.
    """

    FILE = "file"


@dataclass(frozen=True, slots=True)
class StatusOrFile:
    """What comes from one address while an export is made.

    At the address of a file an answer is the exception, at one for the status a file is.

    Attributes:
        form: the format that was ordered.
        kind: the media type.
        of_file: whether the address is that of the file.
    """

    form: str
    kind: str
    of_file: bool

    def is_file(self, beginning: bytes, size: int) -> bool:
        """Whether what begins so is a file, whatever follows; False also where that is not sure.

        Args:
            beginning: the first bytes, up to `LARGEST_ANSWER`.
            size: how many there are by now.
        """
        if BINARY.search(beginning):
            return True
        begun, large = first_of(beginning), size > LARGEST_ANSWER
        if begun in {b"{", b"["}:
            return self._is_file_of_json(beginning.decode("utf-8-sig", "replace"), large=large)
        if large or not begun or (is_json(self.kind) and not self.of_file):
            return large
        more = size > _LONGEST_LINE or b"\n" in beginning.strip()
        return more and self._came_instead(beginning, whole=False) is None

    def read(self, body: bytearray) -> Json | Arrived:
        """What a whole body says, None where that is nothing, or that it is the file.

        Raises:
            NotJson: for a document that is cut short, and for a page of text in its place.
        """
        if first_of(body) not in {b"{", b"["}:
            return self._read_text(bytes(body))
        try:
            content = parse(body)
        except NotJson:
            if self._begins_lines(body.decode("utf-8-sig", "replace")):
                return Arrived.FILE
            raise
        ordered = is_ordered(content, self.form, told=is_json(self.kind))
        return Arrived.FILE if ordered else content

    def _is_file_of_json(self, text: str, *, large: bool) -> bool:
        if self._begins_lines(text):
            return True
        if not large or fold(self.form) in _NEVER_JSON:
            return False
        return self.of_file or (fold(self.form) in _MAYBE_LINES and names_events(text))

    def _begins_lines(self, text: str) -> bool:
        loose = self.of_file and not is_json(self.kind)
        possible = loose or fold(self.form) in _MAYBE_LINES
        return possible and is_lines(text, of_events=not loose)

    def _came_instead(self, beginning: bytes, *, whole: bool) -> object:
        return came_instead(Wanted(self.form), Arrival(beginning, whole, self.kind))

    def _read_text(self, body: bytes) -> Json | Arrived:
        text = body.decode("utf-8-sig", "replace").strip()
        # What is called CSV is, though it is empty.
        possible = self.of_file or (text and not is_json(self.kind)) or not is_loose(self.kind)
        if possible and not is_word(text) and self._came_instead(body, whole=True) is None:
            return Arrived.FILE
        try:
            content = parse_text(text)
        except NotJson:
            content = text
            if len(text) > _LONGEST_WORDS or len(text.splitlines()) > 1:
                if is_json(self.kind):
                    raise
                content = None
        return _as_answer(content)


def first_of(body: bytes | bytearray) -> bytes:
    """The first byte of a text that is none of white space; empty where there is none."""
    return bytes(body[:_LONGEST_LINE].removeprefix(BOM_UTF8).lstrip()[:1])


def _as_answer(content: Json) -> Json:
    """A word or a truth value under the name that others give it; other values say nothing."""
    if isinstance(content, bool):
        return {"done": content}
    if isinstance(content, str) and content and content[0] != "<" and not is_address(content):
        return {"status": content}
    return None
