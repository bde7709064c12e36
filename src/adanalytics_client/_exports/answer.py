"""Read the service's responses about a bulk export.

The service documents only that the response to an order contains a URL. The names and words here
are those of docs/how-to/export-and-download.md; nothing beyond them is guessed.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import urldefrag

from adanalytics_client._base.effects import ResponseHead
from adanalytics_client._base.urls import Address, absolute_url, origin_of
from adanalytics_client._base.validation import is_whole
from adanalytics_client._exports.status import ExportFile, ExportPhase, ExportStatus
from adanalytics_client._json.exact import Json
from adanalytics_client._json.rows import fold
from adanalytics_client.errors import ProtocolError

_DONE = frozenset(
    {"completed", "complete", "done", "success", "succeeded", "ready", "finished", "available"}
)
_FAILED = frozenset({"failed", "failure", "error", "fatal", "aborted", "rejected"})
# First the names that only a file has, in order of precedence, then those of a file or a job.
_SPECIFIC = (
    "downloadurl",
    "fileurl",
    "exporturl",
    "resulturl",
    "reporturl",
    "signedurl",
    "downloadlink",
)
_GENERIC = ("location", "link", "href", "url")
_POLL = ("statusurl", "pollurl", "pollingurl")
_ENVELOPES = frozenset({"data", "result", "response", "payload", "export", "job"})
_REASONS = ("error", "reason", "message", "detail")
_ENDED_BADLY = (ExportPhase.FAILED, ExportPhase.EXPIRED)
_SHA256 = re.compile(r"(?:sha-?256[:=])?([0-9a-f]{64})")

Fields = dict[str, Json]
"""An object's members by folded name."""

Files = tuple[ExportFile | None, ...]
"""The files under one name; None for an entry without an address."""


def read_status(
    content: Json, head: ResponseHead, *, url: str, retry_after: float | None
) -> ExportStatus:
    """Read a response about an export; relative addresses are resolved against its own, `url`."""
    listed_only = {"files": content} if isinstance(content, list) else {}
    answer = content if isinstance(content, dict) else listed_only
    levels = _levels(answer)
    fields = {name: value for level in levels for name, value in level.items()}
    word = next(filter(None, map(_word, reversed(levels))), None)
    specific, generic = _named(fields, _SPECIFIC, url), _named(fields, _GENERIC, url)
    listed = _entries(fields.get("files"), url)
    header = _address(url, head.get("location"))
    poll = next(filter(None, (_address(url, each) for each in _poll_addresses(fields))), None)
    named = bool(specific or generic or listed)
    phase = _phase(word, fields, head, named=named, polled=bool(poll or header))
    files: tuple[ExportFile, ...] = ()
    if phase is ExportPhase.DONE:
        candidates = specific or generic
        if any(listed) or not candidates:
            candidates["files"] = listed
        files = _agreed(candidates, header)
    elif file := _single(specific):
        files = (file,)
    elif poll is None:
        # Beside an unfinished state, a generic name is the status address and not the file.
        job = _single(generic)
        poll = Address(job.url) if job else header
    return ExportStatus(
        phase=phase,
        word=word,
        export_id=_text(fields, "exportid", "jobid", "id"),
        files=_measured(files, fields),
        reason=_reason(fields, _REASONS if phase in _ENDED_BADLY else ("error",)),
        row_count=_count(fields.get("rowcount")),
        retry_after=retry_after,
        poll_url=poll,
        keys=tuple(answer),
        answer=answer,
    )


def _levels(content: dict[str, Json]) -> list[Fields]:
    """Return an object and its envelopes, from the outermost one to the innermost."""
    folded = {fold(name): value for name, value in content.items()}
    inner = [each for name, each in folded.items() if name in _ENVELOPES and isinstance(each, dict)]
    return [folded, *(level for each in inner for level in _levels(each))]


def _word(level: Fields) -> str | None:
    """Return the word for the state; an address in its place does not count."""
    names = ["status", "state", *(name for name in level if name.endswith("status"))]
    words = (level[name] for name in names if isinstance(level.get(name), str))
    return next((each for each in words if each and not _is_address(each)), None)


def _poll_addresses(fields: Fields) -> list[Json]:
    status = fields.get("status")
    linked = isinstance(status, str) and _is_address(status)
    return [*(fields.get(name) for name in _POLL), *([status] if linked else [])]


def _phase(
    word: str | None, fields: Fields, head: ResponseHead, *, named: bool, polled: bool
) -> ExportPhase:
    """Return the phase; a response without a word that names a file is of a finished export."""
    folded = fold(word or "")
    if folded in _DONE:
        return ExportPhase.DONE
    if folded == "expired":
        return ExportPhase.EXPIRED
    no_export = word is None and not (named or polled)
    if folded in _FAILED or (no_export and _reason(fields, ("error",))):
        return ExportPhase.FAILED
    working = word or head.status == 202 or (polled and not named)
    return ExportPhase.WORKING if working else ExportPhase.DONE


def _agreed(candidates: dict[str, Files], header: str | None) -> tuple[ExportFile, ...]:
    """Return the files of a finished export; names that disagree are a ProtocolError."""
    addresses = {tuple(each and each.url for each in files) for files in candidates.values()}
    if len(addresses) > 1:
        raise ProtocolError(
            f"The export is done, but {', '.join(candidates)} name different files. Nothing "
            "was downloaded, as it might be incomplete.",
            remedy="Ask the service which of them is the export.",
        )
    # An entry of a list describes its file; any other name only gives the address.
    found = [*candidates.values()][-1]
    files = tuple(each for each in found if each)
    if len(files) < len(found):
        raise ProtocolError(
            f"The export is done and has {len(found)} files, but {len(found) - len(files)} of them "
            "without an address. Nothing was downloaded, because it would be incomplete.",
            remedy="Start the export again, or ask for less.",
        )
    return files or ((ExportFile(header),) if header else ())


def _single(found: dict[str, Files]) -> ExportFile | None:
    """Return the file under the first name that has exactly one."""
    return next((each[0] for each in found.values() if len(each) == 1), None)


def _named(fields: Fields, names: tuple[str, ...], base: str) -> dict[str, Files]:
    """Return the files under each of `names`, or under its plural, if it has any."""
    found = {
        name: _entries(fields.get(name), base) for each in names for name in (each, f"{each}s")
    }
    return {name: files for name, files in found.items() if any(files)}


def _entries(value: Json, base: str) -> Files:
    if isinstance(value, list):
        return tuple(_entry(each, base) for each in value)
    file = _entry(value, base)
    return (file,) if file else ()


def _entry(value: Json, base: str) -> ExportFile | None:
    """Return a file from its address, or from an object that contains one."""
    if not isinstance(value, dict):
        address = _address(base, value)
        return ExportFile(address) if address else None
    fields = {fold(name): each for name, each in value.items()}
    addresses = (_address(base, fields.get(name)) for name in (*_SPECIFIC, *_GENERIC))
    address = next(filter(None, addresses), None)
    if address is None:
        return None
    return _measured((ExportFile(address, _text(fields, "name", "filename")),), fields)[0]


def _measured(files: tuple[ExportFile, ...], fields: Fields) -> tuple[ExportFile, ...]:
    """Give a single file the size and checksum stated beside it, unless it has its own."""
    if len(files) != 1:
        return files
    (file,) = files
    size = _count(fields.get("sizebytes")) if file.size_bytes is None else file.size_bytes
    found = _SHA256.fullmatch((_text(fields, "sha256") or "").strip().lower())
    return (replace(file, size_bytes=size, sha256=file.sha256 or (found and found[1])),)


def _reason(fields: Fields, names: Iterable[str]) -> str | None:
    """Return the service's words about an error, or None."""
    for value in map(fields.get, names):
        if isinstance(value, str) and value:
            return value
        if isinstance(value, dict):
            return _reason({fold(name): each for name, each in value.items()}, _REASONS)
    return None


def _address(base: str, reference: Json) -> Address | None:
    """Return an http(s) address without its fragment, or None for anything else."""
    if not isinstance(reference, str) or not reference:
        return None
    try:
        address = Address(urldefrag(absolute_url(base, reference.strip())).url)
    except ProtocolError:
        return None
    return address if origin_of(address) else None


def _is_address(value: str) -> bool:
    return value.startswith("/") or origin_of(value) is not None


def _text(fields: Fields, *names: str) -> str | None:
    """Return the first text or number under `names`."""
    values = (fields.get(name) for name in names)
    return next((str(each) for each in values if isinstance(each, str | int) and each != ""), None)


def _count(value: Json) -> int | None:
    return value if is_whole(value, 0) else None
