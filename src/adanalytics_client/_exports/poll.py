"""Order a bulk export, ask for its status, and wait until it is done."""

from collections.abc import Callable
from dataclasses import replace

from adanalytics_client._base.dates import Day, to_range
from adanalytics_client._base.deadline import Deadline
from adanalytics_client._base.effects import Operation, Reply, Request, ResponseHead
from adanalytics_client._base.urls import redact_url
from adanalytics_client._base.validation import check_seconds
from adanalytics_client._call import retry_after
from adanalytics_client._call.attempts import NO_CONTENT, Access, Answer, Rules, call, wait
from adanalytics_client._call.credentials import JSON_BODY
from adanalytics_client._call.exchange import moment_in
from adanalytics_client._call.operations import report_partial
from adanalytics_client._call.retry import FIRST_PAUSE, LONGEST_PAUSE, pause_before
from adanalytics_client._call.session import Session
from adanalytics_client._exports.answer import read_status
from adanalytics_client._exports.checks import is_answer, is_json_format
from adanalytics_client._exports.saved import SavedExport
from adanalytics_client._exports.status import (
    ONE_HOUR,
    ExportFile,
    ExportOrder,
    ExportPhase,
    ExportStatus,
)
from adanalytics_client._json.exact import Json, NotJson, parse
from adanalytics_client.errors import (
    ExportError,
    ExportExpired,
    ExportFailed,
    ExportTimeout,
    NotFound,
    PermissionDenied,
    ProtocolError,
    ServerError,
    TransportError,
)

# The first bytes of JSON, HTML and XML.
_MARKS = (b"{", b"[", b"<")
_LOOSE_KINDS = frozenset({"", "text/plain", "text/xml", "application/xml"})
# Bytes of a response without the media type of JSON: a list of many signed addresses fits.
_LARGEST_UNTYPED = 16 * 1024 * 1024
_LONGEST_KEYS = 500


def start_export(
    session: Session, start: Day, end: Day | None, *, file_format: str, compression: str | None
) -> Operation[SavedExport]:
    """Order an export once."""
    days = to_range(start, end, today=session.today())
    order = ExportOrder.make(*days, file_format=file_format, compression=compression)
    status = yield from order_export(session, order)
    config = session.config
    return SavedExport(config.base.text, config.partner or "", order, status)


def order_export(
    session: Session, order: ExportOrder, *, again: bool = False
) -> Operation[ExportStatus]:
    """Order an export; a repeated order may also be retried."""
    url = session.address("bulk-export")
    headers = (JSON_BODY, ("accept", "application/json"))
    request = Request("POST", url, headers, order.body())
    answer = yield from call(session, request, _read_body, Rules(repeatable=again))
    status = status_from(session, answer)
    if status.phase is ExportPhase.FAILED and status.word is None:
        raise ExportFailed(
            f"The service refused the export: {(status.reason or 'no reason given').rstrip('.')}.",
            remedy="Ask for less, or try later.",
            request_id=session.credentials.request_id(answer.reply.head),
            url=redact_url(answer.url),
        )
    return status


def ask_status(
    session: Session, order: ExportOrder, known: ExportStatus
) -> Operation[ExportStatus]:
    """Request the status address, else the address of the only file, else repeat the order."""
    if known.phase is not ExportPhase.WORKING:
        return known
    # A list of several files may still grow, so none of them shows that the export is done.
    if known.poll_url is None and len(known.files) != 1:
        return (yield from _repeat_order(session, order, known))
    url = known.poll_url or known.files[0].url
    try:
        answer = yield from ask_address(session, order, url, of_file=known.poll_url is None)
    except (NotFound, PermissionDenied) as error:
        return _absent(session, error, known)
    if answer.value is None:
        files = known.files or (ExportFile(url),)
        return ExportStatus(ExportPhase.DONE, known.word, files=files).after(known)
    fresh = status_from(session, answer)
    if fresh.word is None and not fresh.files:
        # A response without a word or an address says nothing new.
        fresh = replace(fresh, phase=ExportPhase.WORKING, word=known.word)
    return replace(fresh, address_exists=fresh.poll_url in {None, url}).after(known)


def _repeat_order(
    session: Session, order: ExportOrder, known: ExportStatus
) -> Operation[ExportStatus]:
    fresh = yield from order_export(session, order, again=True)
    named = None not in (fresh.export_id, known.export_id)
    same = named and fresh.export_id == known.export_id
    if named and not same and fresh.phase is ExportPhase.WORKING:
        raise ProtocolError(
            f"The repeated order started another export ({fresh.export_id} beside "
            f"{known.export_id}), and no answer gives the address of the first one.",
            remedy="Ask the service for its address, or ask for fewer days at once.",
            url=redact_url(session.address("bulk-export")),
        )
    return replace(fresh, order_is_idempotent=same).after(known)


def ask_address(
    session: Session, order: ExportOrder, url: str, *, of_file: bool = False
) -> Operation[Answer[Json]]:
    """Request a status: its JSON, empty when it had none; None if the address returned the file.

    An address of the API is requested with the credential first, that of a file without it.
    """
    sink = _StatusSink(order.format, of_file=of_file)
    access = Access.WITHOUT_FIRST if of_file else Access.WITH_FIRST
    rules = Rules(access, carry=False)
    return (yield from call(session, Request("GET", url), sink.read, rules, sink=sink))


class _StatusSink:
    """Collects a response about an export, but leaves a file, which may be large, unread.

    The head distinguishes them, or else the first byte of the body.
    """

    def __init__(self, form: str, *, of_file: bool) -> None:
        self._form, self._of_file = form, of_file
        self._body, self._file = bytearray(), False

    def accept(self, head: ResponseHead) -> bool | None:
        """Refuse a file, have a response collected, and inspect a body that may be either."""
        self._body, self._file = bytearray(), False
        if head.status != 200 or is_answer(head, self._form):
            return False
        attached = "attachment" in (head.get("content-disposition") or "").lower()
        lines = "jsonl" in head.media_type or "ndjson" in head.media_type
        self._file = attached or lines or (self._of_file and is_json_format(self._form))
        if self._file:
            return None
        loose = head.media_type in _LOOSE_KINDS or is_json_format(self._form)
        return self._of_file or not loose

    def write(self, piece: bytes) -> bool:
        """Collect a body that begins like JSON or an HTML page; any other is the file."""
        self._body += piece
        beginning = self._body.lstrip()
        self._file = bool(beginning) and not beginning.startswith(_MARKS)
        self._file |= len(self._body) > _LARGEST_UNTYPED
        return not self._file

    def read(self, reply: Reply) -> Json:
        """Return the JSON of the response, empty when it had none, or None when the file came."""
        if self._file:
            return None
        if reply.status != 200:
            return _read_body(reply) or {}
        body = self._body or reply.body
        try:
            return (parse(body) or {}) if body.strip() else {}
        except NotJson as error:
            error.size = len(body)
            raise


def _read_body(reply: Reply) -> Json:
    """Return JSON, or None for a success that only its head describes."""
    readable = reply.status != NO_CONTENT and reply.body.lstrip().startswith(_MARKS)
    return parse(reply.body) if readable else None


def _absent(
    session: Session, error: NotFound | PermissionDenied, known: ExportStatus
) -> ExportStatus:
    """Return the status after a 403, 404 or 410: not there yet, or else expired.

    Presigned addresses respond with 404, or 403, until the object exists. After any other response
    of the address, after a 410, and an hour after the order, the export has expired.
    """
    of_file = known.poll_url is None
    signed = is_signed(session, known.poll_url or known.files[0].url)
    ordered_at = known.answered_at.timestamp() if known.answered_at else 0.0
    may_appear = not known.address_exists and session.clock.time() < ordered_at + ONE_HOUR
    if may_appear and (error.status == 404 or (error.status == 403 and signed)):
        reason = f"its address answers {error.status} ({error.reason.rstrip('.')})"
        return replace(known, retry_after=None, reason=reason)
    if error.status in {404, 410} or (of_file and error.status == 403):
        named = f" {known.export_id}" if known.export_id else ""
        expired = ExportExpired(
            f"The service has no export{named} at the address that it gave ({error.status}).",
            remedy="Start it again.",
            request_id=error.request_id,
            attempts=error.attempts,
            url=error.url,
        )
        raise described(expired, known) from None
    raise error


def is_signed(session: Session, url: str) -> bool:
    """Return whether an address may hold a signature: on another origin, or with a query."""
    return "?" in url or not session.config.base.owns(url)


def status_from(session: Session, answer: Answer[Json]) -> ExportStatus:
    """Return the status in a response, without any secret that the response may echo.

    An error beside a finished export goes to the observer and the log.
    """
    head = answer.reply.head
    asked = retry_after(head, session.clock.time()) if head.get("retry-after") else None
    found = answer.checked(
        session.credentials,
        lambda: read_status(answer.value, head, url=answer.url, retry_after=asked),
    )
    report_partial(session, answer, (found.done and found.reason) or "")
    redact, shown = session.credentials.redact, session.credentials.shown
    return replace(
        found,
        word=shown(found.word) if found.word else None,
        export_id=shown(found.export_id) if found.export_id else None,
        files=tuple(replace(file, name=redact(file.name or "") or None) for file in found.files),
        reason=shown(found.reason) if found.reason else None,
        answered_at=moment_in(session, 0.0),
        request_id=session.credentials.request_id(head),
        keys=tuple(map(shown, found.keys)),
        answer=_redacted(found.answer, redact),
    )


def _redacted(value: Json, redact: Callable[[str], str]) -> Json:
    if isinstance(value, dict):
        return {redact(key): _redacted(each, redact) for key, each in value.items()}
    if isinstance(value, list):
        return [_redacted(each, redact) for each in value]
    return redact(value) if isinstance(value, str) else value


def described(error: ExportError, known: ExportStatus) -> ExportError:
    """Add the id and the last word of an export to its error, and the request id."""
    return error.amended(
        export_id=known.export_id,
        status=known.word,
        request_id=error.request_id or known.request_id,
    )


def wait_for(
    session: Session,
    order: ExportOrder,
    known: ExportStatus,
    *,
    timeout: float,
    keep: Callable[[ExportStatus], object],
) -> Operation[ExportStatus]:
    """Request the status until the export is done, or `timeout` seconds have passed.

    The pauses grow to a minute, so that an hour costs about 70 requests, and are never shorter than
    the service asks. If the service fails meanwhile, it is asked again. `keep` receives each
    status, so that it is known even if the wait ends with an error.
    """
    check_seconds("timeout", timeout, zero=True)
    deadline = session.clock.monotonic() + timeout
    polls, last = 0, False
    if known.done and not known.files and known.poll_url is not None:
        # Some services report the end a moment before they name the file.
        known = replace(known, phase=ExportPhase.WORKING)
    while known.phase is ExportPhase.WORKING:
        left = deadline - session.clock.monotonic()
        asked = _pause_left(session, known)
        if last or left <= 0 or asked > left:
            raise described(_too_late(timeout, asked, known), known)
        # The service's pause is the shortest: one second each would use up the hour's requests.
        seconds = min(max(asked, pause_before(polls)), left)
        # The clock may move by less than the pause.
        last = seconds == left
        yield from wait(session, f"export {known.word or 'working'}", seconds)
        polls += 1
        left = deadline - session.clock.monotonic()
        bounded = _within(session, left, f"wait(timeout={timeout:g})")
        try:
            known = yield from ask_status(bounded, order, known)
        except (ServerError, TransportError, ProtocolError) as error:
            passing = not isinstance(error, ProtocolError) or error.unreadable
            if not passing or last or session.clock.monotonic() >= deadline:
                raise
            known = replace(known, retry_after=None)
        keep(known)
    return _finished(known)


def polls_within(seconds: float) -> int:
    """Return the most requests of `wait_for` in so many seconds."""
    pause, polls = FIRST_PAUSE, 1
    while pause < LONGEST_PAUSE and seconds > pause:
        seconds, pause, polls = seconds - pause, pause_before(polls), polls + 1
    return polls + int(max(0.0, seconds) // LONGEST_PAUSE)


def _pause_left(session: Session, known: ExportStatus) -> float:
    """Return the remaining seconds of the pause that the service asked for, maybe some time ago."""
    if known.retry_after is None or known.answered_at is None:
        return known.retry_after or 0.0
    passed = session.clock.time() - known.answered_at.timestamp()
    return max(0.0, known.retry_after - max(0.0, passed))


def _within(session: Session, left: float, name: str) -> Session:
    """Return a session for one request that waits and retries no longer than `left` seconds."""
    clock, config = session.clock, session.config
    latest = Deadline(clock, clock.monotonic() + max(left, FIRST_PAUSE), name)
    max_wait = min(config.max_wait, max(left, 0.0))
    return replace(session, config=replace(config, max_wait=max_wait), latest=latest)


def _too_late(timeout: float, asked: float, known: ExportStatus) -> ExportError:
    if known.reason:
        return ExportExpired(
            f"The export did not appear within {timeout:g} s: {known.reason}.",
            remedy="Start it again.",
        )
    advice = f"; the service says to ask again in {asked:.0f} s" if asked else ""
    return ExportTimeout(
        f"The export is not done within {timeout:g} s; its last status is "
        f"{known.word or 'unknown'!r}{advice}.",
        remedy="Wait longer, or wait again later.",
    )


def _finished(known: ExportStatus) -> ExportStatus:
    """Return a status with files, or raise the error that ended the export."""
    if known.phase is ExportPhase.FAILED:
        reason = (known.reason or f"its status is {known.word!r}, without a reason").rstrip(".")
        raise described(
            ExportFailed(
                f"The export failed: {reason}.", remedy="Start it again, or ask for less."
            ),
            known,
        )
    if known.phase is ExportPhase.EXPIRED:
        why = f": {known.reason.rstrip('.')}" if known.reason else ""
        raise described(
            ExportExpired(f"The export has expired{why}.", remedy="Start it again."), known
        )
    if not known.files:
        raise ProtocolError(
            "The export is done, but the answer names no file to download. "
            f"Keys seen: {', '.join(known.keys)[:_LONGEST_KEYS] or 'none'}.",
            remedy="The whole answer is last_status.answer of the job that start_export returns: "
            "fetch the file from an address in it, or ask the service for the address.",
        )
    return known
