"""Read what comes while an export is being made: an answer about it, or already its file."""

from codecs import BOM_UTF8

from adanalytics_client._body import DamagedBody, Gunzip, OversizedBody
from adanalytics_client._call import NO_CONTENT
from adanalytics_client._effects import Head, Reply
from adanalytics_client._json import Json, NotJson, parse

# More than this is a file.
_LARGEST_STATUS = 1024 * 1024
_ENCODINGS = {"", "identity", "gzip", "x-gzip"}
_LINES_OF_JSON = ("ndjson", "jsonl", "json-lines", "json-seq")


class StatusSink:
    """Lets a status be read and leaves a file alone: asking again must not download it.

    Not every service names the media type or the length of its JSON. So of what may be either, the
    beginning is read: as long as it looks like JSON, and no further than a status is long.
    """

    def __init__(self) -> None:
        self._begin("")

    def accept(self, head: Head) -> bool | None:
        """A page of HTML is read too: it is no file, but a proxy's word for "later"."""
        encoding = (head.get("content-encoding") or "").strip().lower()
        self._begin(encoding)
        if head.status != 200:
            return False
        if _is_told_a_file(head):
            return None
        if is_page(head.media_type):
            return False
        return True if encoding in _ENCODINGS else None

    def write(self, piece: bytes) -> bool:
        """Collect a piece, as long as these may be a status."""
        try:
            self._text += self._gunzip.feed(piece, _LARGEST_STATUS) if self._gunzip else piece
        except (DamagedBody, OversizedBody):
            self._file = True
        begun = self._text.removeprefix(BOM_UTF8).lstrip()[:1]
        self._file |= len(self._text) > _LARGEST_STATUS or begun not in b"{["
        return not self._file

    def read(self, reply: Reply) -> Json:
        """JSON, or None for an answer that has no body or is a file.

        Raises:
            NotJson: for what is neither.
        """
        if self._file:
            return None
        body = bytes(reply.body or self._text)
        if reply.status == NO_CONTENT or not body.strip():
            return None
        if is_page(reply.head.media_type):
            return parse(body)
        try:
            return parse(body) if body.removeprefix(BOM_UTF8).lstrip()[:1] in b"{[" else None
        except NotJson:
            return None

    def _begin(self, encoding: str) -> None:
        self._text = bytearray()
        self._gunzip = Gunzip() if encoding.endswith("gzip") else None
        self._file = False


def _is_told_a_file(head: Head) -> bool:
    """Whether the head says that a file follows."""
    length = head.get("content-length") or ""
    return (
        "attachment" in (head.get("content-disposition") or "").lower()
        or any(each in head.media_type for each in _LINES_OF_JSON)
        or (length.isdecimal() and int(length[:18]) > _LARGEST_STATUS)
    )


def is_page(kind: str) -> bool:
    """Whether a media type is that of an answer."""
    return kind in {"application/json", "text/json", "text/html"} or kind.endswith("+json")
