"""Read what the service says about a bulk export, under whatever names it says it."""

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urldefrag

from adanalytics_client._effects import Head
from adanalytics_client._export import ExportFile, ExportPhase, ExportStatus
from adanalytics_client._json import Json
from adanalytics_client._rows import fold
from adanalytics_client._url import Address, absolute_url, origin_of
from adanalytics_client.errors import ProtocolError

_DONE = frozenset(
    {"completed", "complete", "done", "success", "succeeded", "ready", "finished", "available"}
)
_FAILED = frozenset({"failed", "failure", "error", "fatal", "aborted", "rejected"})
_SPECIFIC = (
    "downloadurl",
    "fileurl",
    "exporturl",
    "resulturl",
    "reporturl",
    "signedurl",
    "downloadlink",
)
# The same for several files; the plural of a specific name is as specific.
_SPECIFIC_LISTS = tuple(f"{name}s" for name in _SPECIFIC)
_GENERIC = ("location", "link", "href", "url", "urls", "files")
_POLL = ("statusurl", "pollurl", "pollingurl", "statuslink", "monitorurl", "joburl")
_REASONS = ("error", "errormessage", "reason", "failurereason", "message", "detail")
_INNER = frozenset({"data", "result", "response", "payload", "export", "job", "links"})
_SHA256_LENGTH = 64


def read_status(content: Json, head: Head, *, url: str, retry_after: float | None) -> ExportStatus:
    """Make sense of an answer about an export.

    Args:
        content: its JSON, or None when it had none.
        head: its status and headers.
        url: the address that gave it; relative addresses are seen from there.
        retry_after: seconds from its headers.
    """
    answer = _named(content)
    said = _flatten(answer)
    word = _word(said)
    phase = _phase(word, said, head)
    specific = _files(said, (*_SPECIFIC, *_SPECIFIC_LISTS), url)
    generic = _files(said, _GENERIC, url) or _header_location(head, url)
    # Beside an unfinished state a plain "url" or Location is where to ask, not the file. Several
    # are files.
    files = specific or (generic if phase is ExportPhase.DONE or len(generic) > 1 else ())
    poll = _first_url(said, _POLL, url) or _status_link(said, url)
    if poll is None and phase is ExportPhase.WORKING and len(generic) == 1:
        poll = generic[0].url
    return ExportStatus(
        phase=phase,
        word=word,
        export_id=_text(said, ("exportid", "jobid", "id")),
        files=_measured(files, said),
        reason=_reason(said) if phase is ExportPhase.FAILED else None,
        row_count=_count(said.get("rowcount")),
        retry_after=retry_after,
        poll_url=poll,
        keys=tuple(content) if isinstance(content, dict) else (),
        answer=answer,
    )


def _named(content: Json) -> dict[str, Json]:
    """An answer that is only a list of files, under the name for that."""
    if isinstance(content, dict):
        return content
    return {"files": content} if isinstance(content, list) else {}


def _flatten(content: dict[str, Json]) -> dict[str, Json]:
    """Folded names of an object and of the objects in it; what is further in wins.

    An envelope's `"status": "success"` is about the request, the one inside about the export.
    """
    said = {fold(key): value for key, value in content.items()}
    for key, value in content.items():
        if fold(key) in _INNER and isinstance(value, dict):
            said.update(_flatten(value))
    return said


def _word(said: dict[str, Json]) -> str | None:
    names = ["status", "state", *(key for key in said if key.endswith("status"))]
    for name in names:
        value = said.get(name)
        if isinstance(value, str) and value and not _is_address(value):
            return value
    return None


def _phase(word: str | None, said: dict[str, Json], head: Head) -> ExportPhase:
    folded = fold(word or "")
    if folded in _DONE:
        return ExportPhase.DONE
    if folded in _FAILED:
        return ExportPhase.FAILED
    if folded == "expired":
        return ExportPhase.EXPIRED
    if word is None and head.status != 202 and "status" not in said:
        return ExportPhase.DONE
    return ExportPhase.WORKING


def _files(said: dict[str, Json], names: tuple[str, ...], base: str) -> tuple[ExportFile, ...]:
    for name in names:
        value = said.get(name)
        found = tuple(_each_file(value if isinstance(value, list) else [value], base))
        if found:
            return found
    return ()


def _each_file(values: list[Json], base: str) -> Iterator[ExportFile]:
    for value in values:
        if isinstance(value, str):
            if (address := _address(base, value)) is not None:
                yield ExportFile(address)
        elif isinstance(value, dict):
            inner = _flatten(value)
            for file in _files(inner, (*_SPECIFIC, *_GENERIC), base)[:1]:
                name = _text(inner, ("name", "filename"))
                yield _measured((replace(file, name=name),), inner)[0]


def _measured(files: tuple[ExportFile, ...], said: dict[str, Json]) -> tuple[ExportFile, ...]:
    """The size and checksum beside a single file are that file's."""
    if len(files) != 1:
        return files
    sha256 = _text(said, ("sha256", "checksumsha256"))
    if sha256 and len(sha256) != _SHA256_LENGTH:
        sha256 = None
    size = _count(said.get("sizebytes", said.get("filesizebytes")))
    file = files[0]
    sha256 = (file.sha256 or sha256 or "").lower() or None
    known = file.size_bytes if file.size_bytes is not None else size
    return (replace(file, size_bytes=known, sha256=sha256),)


def _header_location(head: Head, base: str) -> tuple[ExportFile, ...]:
    address = _address(base, head.get("location"))
    return (ExportFile(address),) if address else ()


def _first_url(said: dict[str, Json], names: tuple[str, ...], base: str) -> str | None:
    return _address(base, _text(said, names))


def _status_link(said: dict[str, Json], base: str) -> str | None:
    status = said.get("status")
    return _address(base, status) if isinstance(status, str) and _is_address(status) else None


def _address(base: str, reference: str | None) -> str | None:
    """An http(s) address without its fragment, or None for text that is none."""
    if not reference:
        return None
    try:
        address = Address(urldefrag(absolute_url(base, reference.strip())).url)
    except ProtocolError:
        return None
    return address if origin_of(address) else None


def _is_address(value: str) -> bool:
    return value.startswith("/") or origin_of(value) is not None


def _reason(said: dict[str, Json]) -> str | None:
    for name in _REASONS:
        value = said.get(name)
        if isinstance(value, dict):
            value = value.get("message")
        if isinstance(value, str) and value:
            return value
    return None


def _text(said: dict[str, Json], names: tuple[str, ...]) -> str | None:
    values = (said.get(name) for name in names)
    return next((str(each) for each in values if isinstance(each, str | int) and each != ""), None)


def _count(value: Json) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if whole else None
