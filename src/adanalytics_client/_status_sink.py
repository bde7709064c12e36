"""Read what comes while an export is being made: an answer about it, or already its file."""

from adanalytics_client._body import LARGEST_BODY, DamagedBody, Gunzip, OversizedBody
from adanalytics_client._call import NO_CONTENT
from adanalytics_client._effects import Head, Reply
from adanalytics_client._instead import LARGEST_ANSWER
from adanalytics_client._json import Json, NotJson, parse
from adanalytics_client._media_types import is_page
from adanalytics_client._status_or_file import Arrived, StatusOrFile, first_of

_ENCODINGS = {"", "identity", "gzip", "x-gzip"}
_LINES_OF_JSON = ("ndjson", "jsonl", "json-lines", "json-seq")


class StatusSink:
    """Lets a status be read and leaves a file alone: asking again must not download it.

    Neither a media type nor a length tells them apart in every service. So the beginning is read,
    and the rest only where nothing in it tells that it is a file.

    Args:
        form: the format that was ordered.
        of_file: whether the address is that of the file, and not one to ask for the status.
    """

    def __init__(self, form: str, *, of_file: bool = False) -> None:
        self._form, self.of_file = form, of_file
        self._look_at = 1
        self._begin(Head(0, {}))

    def accept(self, head: Head) -> bool | None:
        """A page of HTML is read too: it is no file, but a proxy's word for "later"."""
        self._begin(head)
        if head.status != 200:
            return False
        readable = _encoding(head) in _ENCODINGS
        self._file = _is_told_a_file(head) or not (readable or is_page(head.media_type))
        if self._file:
            return None
        return readable and head.media_type != "text/html"

    def write(self, piece: bytes) -> bool:
        """Collect a piece, as long as these may be a status."""
        try:
            self._text += self._gunzip.feed(piece, LARGEST_BODY) if self._gunzip else piece
        except (DamagedBody, OversizedBody):
            self._file = True
        size = len(self._text)
        if size >= self._look_at:
            # Only where it has doubled: many small pieces shall cost no more than a large one.
            self._look_at = 2 * size if size > LARGEST_ANSWER else min(2 * size, LARGEST_ANSWER + 1)
            self._file |= self._either.is_file(bytes(self._text[:LARGEST_ANSWER]), size)
        self._file |= size > LARGEST_BODY
        return not self._file

    def read(self, reply: Reply) -> Json | Arrived:
        """JSON, or that it is a file; None for an answer that says nothing.

        Raises:
            NotJson: for what is none of these.
        """
        if self._file:
            return Arrived.FILE
        if reply.status != 200 or reply.head.media_type == "text/html":
            return read_answer(reply)
        try:
            return self._either.read(self._text)
        except NotJson as error:
            error.size = len(self._text)
            raise

    def _begin(self, head: Head) -> None:
        self._text = bytearray()
        self._gunzip = Gunzip() if _encoding(head).endswith("gzip") else None
        self._either = StatusOrFile(self._form, head.media_type, self.of_file)
        self._look_at = 1
        self._file = False


def read_answer(reply: Reply) -> Json:
    """JSON, or None for an answer that has none.

    Raises:
        NotJson: for a page that is none.
    """
    body = reply.body
    if reply.status == NO_CONTENT or not body.strip():
        return None
    if is_page(reply.head.media_type):
        return parse(body)
    try:
        return parse(body) if first_of(body) in {b"{", b"["} else None
    except NotJson:
        return None


def _encoding(head: Head) -> str:
    return (head.get("content-encoding") or "").strip().lower()


def _is_told_a_file(head: Head) -> bool:
    """Whether the head says that a file follows."""
    return "attachment" in (head.get("content-disposition") or "").lower() or any(
        each in head.media_type for each in _LINES_OF_JSON
    )
