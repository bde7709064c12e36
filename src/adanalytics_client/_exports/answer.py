"""Read the service's responses about a bulk export.

The service documents only that the response to an order contains a URL. The names and words here
are those of docs/how-to/export-and-download.md; nothing beyond them is guessed. A fact whose place
is in the profile of the service is read there only.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable
from dataclasses import replace
from urllib.parse import urldefrag

from adanalytics_client._base.dates import ISO_DAY
from adanalytics_client._base.effects import Reply, ResponseHead
from adanalytics_client._base.spelling import fold
from adanalytics_client._base.urls import Address, absolute_url, origin_of
from adanalytics_client._call.attempts import NO_CONTENT, Answer
from adanalytics_client._call.exchange import moment_in
from adanalytics_client._call.requests import check_whole, report_partial
from adanalytics_client._call.session import Session
from adanalytics_client._json.exact import Json, NotJson, parse
from adanalytics_client._json.rows import members
from adanalytics_client._quota.headers import retry_after
from adanalytics_client._shapes.changes import changed
from adanalytics_client._shapes.page import first_value, number_of, stated_shortfall
from adanalytics_client._shapes.places import values_at
from adanalytics_client._shapes.service import ExportFact, ExportProfile, ServiceProfile
from adanalytics_client.errors import ProtocolError

from .checks import is_answer, is_json_format
from .status import ExportFile, ExportOrder, ExportPhase, ExportStatus

_DONE = frozenset(
    {"completed", "complete", "done", "success", "succeeded", "ready", "finished", "available"}
)
_FAILED = frozenset(
    {"failed", "failure", "error", "fatal", "aborted", "rejected", "cancelled", "canceled"}
)
# The usual words for work that goes on; only a profile makes any other word an error.
_WORKING = frozenset(
    {"pending", "queued", "waiting", "scheduled", "accepted", "created", "started", "submitted"}
    | {"processing", "running", "inprogress", "preparing", "working"}
)
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
# Xandr (row_count); BigQuery's query results (totalRows); Databricks' manifest (total_row_count).
_ROWS = ("rowcount", "totalrows", "totalrowcount")
_ENVELOPES = frozenset({"data", "result", "response", "payload", "export", "job"})
_REASONS = ("error", "reason", "message", "detail")
_ENDED_BADLY = (ExportPhase.FAILED, ExportPhase.EXPIRED)
_SHA256 = re.compile(r"(?:sha-?256[:=])?([0-9a-f]{64})")

# The first bytes of JSON, HTML and XML, and what may stand before them.
_MARKS = (b"{", b"[", b"<")
_BLANK = BOM_UTF8 + b" \t\r\n"
_LOOSE_KINDS = frozenset({"", "text/plain", "text/xml", "application/xml"})
# Bytes of a response without the media type of JSON: a list of many signed addresses fits.
_LARGEST_UNTYPED = 16 * 1024 * 1024

Fields = dict[str, Json]
"""An object's members by folded name."""

Files = tuple[ExportFile | None, ...]
"""The files under one name; None for an entry without an address."""


class StatusSink:
    """Collects a response about an export, but leaves a file, which may be large, unread.

    The head distinguishes them, or else the first byte of the body.
    """

    def __init__(self, form: str, *, of_file: bool) -> None:
        self._form, self._of_file = form, of_file
        self._body, self._file = bytearray(), False

    def accept(self, head: ResponseHead) -> bool | None:
        """Refuse a file, have a response collected, and inspect a body that may be either."""
        self._body, self._file = bytearray(), False
        # An error is never the file, and JSON is only if JSON was ordered.
        if head.status != 200 or is_answer(head, self._form):
            return False
        attached = "attachment" in (head.get("content-disposition") or "").lower()
        lines = "jsonl" in head.media_type or "ndjson" in head.media_type
        self._file = attached or lines or (self._of_file and is_json_format(self._form))
        if self._file:
            return None
        # A body of a type that says nothing, such as text/plain, may be either: `write` looks at
        # it.
        loose = head.media_type in _LOOSE_KINDS or is_json_format(self._form)
        return self._of_file or not loose

    def write(self, piece: bytes) -> bool:
        """Collect a body that begins like JSON or an HTML page; any other is the file."""
        self._body += piece
        start = self._body.lstrip(_BLANK)
        self._file = bool(start) and not start.startswith(_MARKS)
        # No response about an export is this long, and a file without a type must not fill the
        # memory.
        self._file |= len(self._body) > _LARGEST_UNTYPED
        return not self._file

    def read(self, reply: Reply) -> Json:
        """Return the JSON of the response, empty when it had none, or None when the file came."""
        if self._file:
            return None
        if reply.status != 200:
            return read_body(reply) or {}
        body = self._body or reply.body
        try:
            return (parse(body) or {}) if body.strip() else {}
        except NotJson as error:
            error.size = len(body)
            raise


def read_body(reply: Reply) -> Json:
    """Return JSON, or None for a success that only its head describes."""
    readable = reply.status != NO_CONTENT and reply.body.lstrip(_BLANK).startswith(_MARKS)
    return parse(reply.body) if readable else None


def status_from(session: Session, order: ExportOrder, answer: Answer[Json]) -> ExportStatus:
    """Return the status in a response, without any secret that the response may echo.

    An error beside a finished export goes to the observer and the log.

    Raises:
        ProtocolError: also when the response states other days than the order.
    """
    head = answer.reply.head
    pause = retry_after(head, session.clock.time()) if head.get("retry-after") else None
    fields = answer.checked(
        session.credentials,
        lambda: _read_status(
            answer.value, head, order, session.config.service, url=answer.url, retry_after=pause
        ),
    )
    if fields.done:
        # An error beside the file is only reported.
        levels = [
            {name: value for name, value in level.items() if name != "error"}
            for level in _levels(fields.answer)
        ]
        check_whole(session, answer, stated_shortfall(levels, head.headers))
    report_partial(session, answer, (fields.done and fields.reason) or "")
    redact, show = session.credentials.redact, session.credentials.shown
    return replace(
        fields,
        status_text=show(fields.status_text) if fields.status_text else None,
        export_id=show(fields.export_id) if fields.export_id else None,
        files=tuple(replace(file, name=redact(file.name or "") or None) for file in fields.files),
        reason=show(fields.reason) if fields.reason else None,
        answered_at=moment_in(session, 0.0),
        request_id=session.credentials.request_id(head),
        keys=tuple(map(show, fields.keys)),
        answer=_redacted(fields.answer, redact),
    )


def _redacted(value: Json, redact: Callable[[str], str]) -> Json:
    if isinstance(value, dict):
        return {redact(key): _redacted(member, redact) for key, member in value.items()}
    if isinstance(value, list):
        return [_redacted(member, redact) for member in value]
    return redact(value) if isinstance(value, str) else value


def _read_status(
    content: Json,
    head: ResponseHead,
    order: ExportOrder,
    service: ServiceProfile,
    *,
    url: str,
    retry_after: float | None,
) -> ExportStatus:
    """Read a response about an export; relative addresses are resolved against its own, `url`."""
    profile = service.export or ExportProfile()

    def known(part: ExportFact) -> list[Json] | None:
        """Return the value at the place of a fact; None if the place is not known."""
        place = profile.names.get(part)
        return None if place is None else [*values_at(content, head.headers, place)]

    listed_only = {"files": content} if isinstance(content, list) else {}
    answer = content if isinstance(content, dict) else listed_only
    # Services wrap the job in an object such as `data` or `job`. Of a name on several levels, the
    # innermost one counts: an outer `status` is often that of the request.
    levels = _levels(answer)
    fields = {name: value for level in levels for name, value in level.items()}
    _check_days(fields, order)
    words, ids, rows = known("status"), known("id"), known("rows")
    levels_of_status = levels if words is None else [{"status": next(iter(words), None)}]
    status_text = next(filter(None, map(_status_text, reversed(levels_of_status))), None)
    # Names such as `download_url` can only be the file. Names such as `url` are the file of a
    # finished export, and the address to poll of any other.
    specific, generic = _named(fields, _SPECIFIC, url), _named(fields, _GENERIC, url)
    listing = _entries(fields.get("files"), url)
    header = _address(url, head.get("location"))
    if (addresses := known("file")) is not None:
        generic, header = {}, None
        listing = _entries(next(iter(addresses), None), url)
        specific = {profile.names["file"]: listing} if len(listing) == 1 else {}
    # A profile that knows a place replaces the guess, also if nothing is there yet.
    states = known("state")
    polls = _poll_addresses(fields) if states is None else states
    poll = next(filter(None, (_address(url, place) for place in polls)), None)
    has_address = bool(specific or generic or listing)
    phase = _phase_by_profile(status_text, service)
    phase = phase or _phase(
        status_text, fields, head, has_address=has_address, is_poll=bool(poll or header)
    )
    files: tuple[ExportFile, ...] = ()
    if phase is ExportPhase.DONE:
        candidates = specific or generic
        if any(listing) or not candidates:
            candidates["files"] = listing
        files = _agreed(candidates, header)
    elif file := _single(specific):
        files = (file,)
    elif poll is None:
        # Beside an unfinished state, a generic name is the status address and not the file.
        job = _single(generic)
        poll = Address(job.url) if job else header
    return ExportStatus(
        phase=phase,
        status_text=status_text,
        export_id=_text(fields, "exportid", "jobid", "id") if ids is None else _first_text(ids),
        files=_measured(files, fields),
        reason=_reason(fields, _REASONS if phase in _ENDED_BADLY else ("error",)),
        row_count=first_value(map(number_of, map(fields.get, _ROWS) if rows is None else rows)),
        retry_after=retry_after,
        poll_url=poll,
        keys=tuple(path for path, _ in members(answer)),
        answer=answer,
    )


def _check_days(fields: Fields, order: ExportOrder) -> None:
    days = {"startdate": order.start, "enddate": order.end}
    answer_days = {name: fields.get(name) for name in days}
    for name, text in answer_days.items():
        if isinstance(text, str) and ISO_DAY.fullmatch(text) and text != str(days[name]):
            raise ProtocolError(
                f"The order was {order.start} to {order.end}, but the service exports "
                f"{' to '.join(str(day) for day in answer_days.values())}.",
                remedy="Ask for days that it takes as they are, or report it to the service.",
            )


def _levels(content: dict[str, Json]) -> list[Fields]:
    """Return an object and its envelopes, from the outermost one to the innermost."""
    fields = {fold(name): value for name, value in content.items()}
    envelopes = [
        member for name, member in fields.items() if name in _ENVELOPES and isinstance(member, dict)
    ]
    return [fields, *(level for envelope in envelopes for level in _levels(envelope))]


def _status_text(level: Fields) -> str | None:
    """Return the service's own word for the state; an address in its place does not count."""
    names = ["status", "state", *(name for name in level if name.endswith("status"))]
    words = (level[name] for name in names if isinstance(level.get(name), str))
    return next((word for word in words if word and not _is_address(word)), None)


def _poll_addresses(fields: Fields) -> list[Json]:
    status = fields.get("status")
    is_link = isinstance(status, str) and _is_address(status)
    return [*(fields.get(name) for name in _POLL), *([status] if is_link else [])]


def _phase_by_profile(status_text: str | None, service: ServiceProfile) -> ExportPhase | None:
    """Return the phase that a word means by the profile; None if the profile does not say.

    Raises:
        ProtocolError: for a word that nobody uses, from a service that was probed.
    """
    words = service.export.words if service.export else {}
    state_word = fold(status_text or "")
    for state, word in words.items():
        if status_text and fold(word) == state_word:
            return ExportPhase.DONE if state == "completed" else ExportPhase.WORKING
    usual = _DONE | _FAILED | _WORKING | {"expired", ""}
    # A service that was probed and now says something new has changed; to wait would be a guess.
    if words and service.probe_date is not None and state_word not in usual:
        raise changed(service, f"the state of an export is {status_text!r:.100}")
    return None


def _phase(
    status_text: str | None, fields: Fields, head: ResponseHead, *, has_address: bool, is_poll: bool
) -> ExportPhase:
    """Return the phase; a response without a word that names a file is of a finished export."""
    word = fold(status_text or "")
    if word in _DONE:
        return ExportPhase.DONE
    if word == "expired":
        return ExportPhase.EXPIRED
    # An `error` beside an address is a remark about a file that exists.
    no_export = status_text is None and not (has_address or is_poll)
    if word in _FAILED or (no_export and _reason(fields, ("error",))):
        return ExportPhase.FAILED
    # An unknown word means that the export goes on: to wait for a finished one ends with the
    # timeout, but to take an unfinished one for finished would lose events.
    is_working = status_text or head.status == 202 or (is_poll and not has_address)
    return ExportPhase.WORKING if is_working else ExportPhase.DONE


def _agreed(candidates: dict[str, Files], header: str | None) -> tuple[ExportFile, ...]:
    """Return the files of a finished export; names that disagree are a ProtocolError."""
    addresses = {tuple(file and file.url for file in files) for files in candidates.values()}
    if len(addresses) > 1:
        raise ProtocolError(
            f"The export is done, but {', '.join(candidates)} name different files. Nothing "
            "was downloaded, as it might be incomplete.",
            remedy="Ask the service which of them is the export.",
        )
    # An entry of a list describes its file; any other name only gives the address.
    entries = [*candidates.values()][-1]
    files = tuple(entry for entry in entries if entry)
    if len(files) < len(entries):
        raise ProtocolError(
            f"The export is done, but {len(entries) - len(files)} of the {len(entries)} entries in "
            "its list have no address. Nothing was downloaded, because it would be incomplete.",
            remedy="Start the export again, or ask for less.",
        )
    return files or ((ExportFile(header),) if header else ())


def _single(candidates: dict[str, Files]) -> ExportFile | None:
    """Return the file under the first name that has exactly one."""
    return next((files[0] for files in candidates.values() if len(files) == 1), None)


def _named(fields: Fields, names: tuple[str, ...], base: str) -> dict[str, Files]:
    """Return the files under each of `names`, or under its plural, if it has any."""
    candidates = {
        name: _entries(fields.get(name), base) for key in names for name in (key, f"{key}s")
    }
    return {name: files for name, files in candidates.items() if any(files)}


def _entries(value: Json, base: str) -> Files:
    if isinstance(value, list):
        return tuple(_entry(entry, base) for entry in value)
    file = _entry(value, base)
    return (file,) if file else ()


def _entry(value: Json, base: str) -> ExportFile | None:
    """Return a file from its address, or from an object that contains one."""
    if not isinstance(value, dict):
        address = _address(base, value)
        return ExportFile(address) if address else None
    fields = {fold(name): field for name, field in value.items()}
    addresses = (_address(base, fields.get(name)) for name in (*_SPECIFIC, *_GENERIC))
    address = next(filter(None, addresses), None)
    if address is None:
        return None
    return _measured((ExportFile(address, _text(fields, "name", "filename")),), fields)[0]


def _measured(files: tuple[ExportFile, ...], fields: Fields) -> tuple[ExportFile, ...]:
    """Give a single file the size and checksum stated beside it, unless it has its own."""
    # Beside several files, a size is that of all of them.
    if len(files) != 1:
        return files
    (file,) = files
    size = number_of(fields.get("sizebytes")) if file.size_bytes is None else file.size_bytes
    match = _SHA256.fullmatch((_text(fields, "sha256") or "").strip().lower())
    return (replace(file, size_bytes=size, sha256=file.sha256 or (match and match[1])),)


def _reason(fields: Fields, names: Iterable[str]) -> str | None:
    for value in map(fields.get, names):
        if isinstance(value, str) and value:
            return value
        if isinstance(value, dict):
            return _reason({fold(name): member for name, member in value.items()}, _REASONS)
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
    return _first_text(fields.get(name) for name in names)


def _first_text(values: Iterable[Json]) -> str | None:
    return next((str(text) for text in values if isinstance(text, str | int) and text != ""), None)
