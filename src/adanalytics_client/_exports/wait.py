"""Ask for the status of a bulk export, and wait until it is done."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar
from urllib.parse import quote

from adanalytics_client import errors
from adanalytics_client._base.deadline import Deadline
from adanalytics_client._base.effects import Operation, Request
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.urls import Address, redact_url
from adanalytics_client._base.validation import check_seconds
from adanalytics_client._call.attempts import Access, Answer, Rules, call, wait
from adanalytics_client._call.retry import FIRST_PAUSE, LONGEST_PAUSE, pause_before
from adanalytics_client._call.session import Session
from adanalytics_client._json.exact import Json
from adanalytics_client._shapes.changes import changed

from .answer import StatusSink, status_from
from .order import repeat_order
from .status import ONE_HOUR, ExportFile, ExportOrder, ExportPhase, ExportStatus

E = TypeVar("E", bound=errors.AdAnalyticsError)

_LONGEST_KEYS = 500
_GONE = frozenset({404, 410})


def ask_status(
    session: Session, order: ExportOrder, last_status: ExportStatus
) -> Operation[ExportStatus]:
    """Request the status once.

    From the status address, else the address of the only file, else that of the export's id below
    the address of the order; if there is none of these, or nothing at the last, the order is
    repeated, once in the life of an export.

    Raises:
        ProtocolError: when the order was repeated, and there is still no address to ask.
    """
    if last_status.phase is not ExportPhase.WORKING:
        return last_status
    # A list of several files may still grow, so none of them shows that the export is done.
    of_file = last_status.poll_url is None and len(last_status.files) == 1
    url = last_status.files[0].url if of_file else last_status.poll_url
    if not url and last_status.export_id is not None:
        url = f"{session.address('bulk-export')}/{quote(last_status.export_id, safe='')}"
    if url is None:
        if last_status.order_repeated:
            raise described(_without_address(session), last_status)
        return (yield from repeat_order(session, order, last_status))
    is_guess = not of_file and last_status.poll_url is None
    try:
        answer = yield from ask_address(session, order, url, of_file=of_file)
    except errors.StatusError as error:
        if is_guess and not isinstance(error, errors.ServerError | errors.RateLimited):
            if not last_status.order_repeated:
                return (yield from repeat_order(session, order, last_status))
            if error.status not in _GONE:
                raise described(_without_address(session), last_status) from error
        if not isinstance(error, errors.NotFound | errors.PermissionDenied):
            raise
        return _absent(session, error, last_status, url, of_file=of_file)
    if answer.value is None:
        files = last_status.files or (ExportFile(url),)
        return ExportStatus(ExportPhase.DONE, last_status.status_text, files=files).after(
            last_status
        )
    status = status_from(session, order, answer)
    if status.status_text is None and not status.files:
        # A response without a word or an address says nothing new.
        status = replace(status, phase=ExportPhase.WORKING, status_text=last_status.status_text)
    if is_guess and status.poll_url is None:
        status = replace(status, poll_url=Address(url))
    return replace(status, address_exists=status.poll_url in {None, url}).after(last_status)


def _without_address(session: Session) -> errors.ProtocolError:
    return errors.ProtocolError(
        "The export is not done, and no answer names an address to ask for it.",
        remedy="Ask the service for its address, or ask for fewer days at once.",
        url=redact_url(session.address("bulk-export")),
    )


def ask_address(
    session: Session, order: ExportOrder, url: str, *, of_file: bool = False
) -> Operation[Answer[Json]]:
    """Request a status: its JSON, empty when it had none; None if the address returned the file.

    An address of the API is requested with the credential first, that of a file without it.
    """
    sink = StatusSink(order.format, of_file=of_file)
    access = Access.BARE_FIRST if of_file else Access.CREDENTIAL_FIRST
    rules = Rules(access, carry=False)
    return (yield from call(session, Request("GET", url), sink.read, rules, sink=sink))


def _absent(
    session: Session,
    error: errors.NotFound | errors.PermissionDenied,
    last_status: ExportStatus,
    url: str,
    *,
    of_file: bool,
) -> ExportStatus:
    """Return the status after a 403, 404 or 410: not there yet, or else expired.

    Presigned addresses respond with 404, or 403, until the object exists. After any other response
    of the address, after a 410, and an hour after the order, the export has expired.
    """
    has_signature = is_signed(session, url)
    ordered_at = last_status.answered_at.timestamp() if last_status.answered_at else 0.0
    may_appear = not last_status.address_exists and session.clock.time() < ordered_at + ONE_HOUR
    # Object stores answer 403 for a missing object to those who may not list the bucket.
    if may_appear and (error.status == 404 or (error.status == 403 and has_signature)):
        reason = f"its address answers {error.status} ({error.reason.rstrip('.')})"
        return replace(last_status, retry_after=None, reason=reason)
    # The signature of a file's address expires with a 403; the API would mean a missing right.
    if error.status in _GONE or (of_file and error.status == 403):
        export_name = f" {last_status.export_id}" if last_status.export_id else ""
        expiry = errors.ExportExpired(
            f"The service has no export{export_name} at the address that it gave ({error.status}).",
            remedy="Start it again.",
            request_id=error.request_id,
            attempts=error.attempts,
            url=error.url,
        )
        raise described(expiry, last_status) from None
    raise error


def is_signed(session: Session, url: str) -> bool:
    """Return whether an address may hold a signature: on another origin, or with a query."""
    return "?" in url or not session.config.base.owns(url)


def described(error: E, status: ExportStatus) -> E:
    """Add the request id to an error, and the id and the last word of an export to its own."""
    if isinstance(error, errors.ExportError):
        error.amended(export_id=status.export_id, status=status.status_text)
    return error.amended(request_id=error.request_id or status.request_id)


def wait_for(
    session: Session,
    order: ExportOrder,
    status: ExportStatus,
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
    polls, last, outage = 0, False, 0.0
    if status.done and not status.files and _has_address(status):
        # Some services report the end a moment before they name the file, or elsewhere.
        status = replace(status, phase=ExportPhase.WORKING)
    while status.phase is ExportPhase.WORKING:
        remaining = deadline - session.clock.monotonic()
        shortest_pause, outage = max(_pause_left(session, status), outage), 0.0
        if last or remaining <= 0 or shortest_pause > remaining:
            raise described(_too_late(timeout, shortest_pause, status), status)
        # The service's pause is the shortest: one second each would use up the hour's requests.
        # Before the only repeat of the order, the export gets the time to be done.
        pause = pause_before(polls) if _has_address(status) else LONGEST_PAUSE
        seconds = min(max(shortest_pause, pause), remaining)
        # The clock may move by less than the pause.
        last = seconds == remaining
        yield from wait(session, f"export {status.status_text or 'working'}", seconds)
        polls += 1
        remaining = deadline - session.clock.monotonic()
        bounded = _within(session, remaining, f"wait(timeout={timeout:g})")
        try:
            status = yield from ask_status(bounded, order, status)
        except (errors.ServerError, errors.TransportError, errors.ProtocolError) as error:
            is_temporary = not isinstance(error, errors.ProtocolError) or error.unreadable
            if not is_temporary or last or session.clock.monotonic() >= deadline:
                raise
            status = replace(status, retry_after=None)
            outage = (error.retry_after if isinstance(error, errors.ServerError) else None) or 0.0
        keep(status)
    return _finished(session, status)


def _has_address(status: ExportStatus) -> bool:
    has_address = status.poll_url is not None or status.export_id is not None
    return has_address or len(status.files) == 1


def polls_within(seconds: float) -> int:
    """Return the most requests that `wait_for` sends in so many seconds."""
    pause, polls = FIRST_PAUSE, 1
    while pause < LONGEST_PAUSE and seconds > pause:
        seconds, pause, polls = seconds - pause, pause_before(polls), polls + 1
    return polls + int(max(0.0, seconds) // LONGEST_PAUSE)


def _pause_left(session: Session, status: ExportStatus) -> float:
    """Return the remaining seconds of the pause that the service asked for, maybe some time ago."""
    if status.retry_after is None or status.answered_at is None:
        return status.retry_after or 0.0
    elapsed = session.clock.time() - status.answered_at.timestamp()
    return max(0.0, status.retry_after - max(0.0, elapsed))


def _within(session: Session, seconds: float, name: str) -> Session:
    """Return a session for one request that waits and retries no longer than `seconds` seconds."""
    clock, config = session.clock, session.config
    deadline = Deadline(clock, clock.monotonic() + max(seconds, FIRST_PAUSE), name)
    quota = replace(config.quota, max_wait=min(config.quota.max_wait, max(seconds, 0.0)))
    return replace(session, config=replace(config, quota=quota), limit=deadline)


def _too_late(timeout: float, pause: float, status: ExportStatus) -> errors.ExportError:
    if status.reason:
        return errors.ExportExpired(
            f"The export did not appear within {timeout:g} s: {status.reason}.",
            remedy="Start it again.",
        )
    advice = f"; the service says to ask again in {pause:.0f} s" if pause else ""
    return errors.ExportTimeout(
        f"The export is not done within {timeout:g} s; its last status is "
        f"{status.status_text or 'unknown'!r}{advice}.",
        remedy=remedy("export_time"),
    )


def _finished(session: Session, status: ExportStatus) -> ExportStatus:
    """Return a status with files, or raise the error that ended the export."""
    service = session.config.service
    reason = (status.reason or "").rstrip(".")
    if status.phase is ExportPhase.FAILED:
        reason = reason or f"its status is {status.status_text!r}, without a reason"
        failed = errors.ExportFailed(
            f"The export failed: {reason}.", remedy="Start it again, or ask for less."
        )
        raise described(failed, status)
    if status.phase is ExportPhase.EXPIRED:
        detail = f": {reason}" if reason else ""
        expiry = errors.ExportExpired(f"The export has expired{detail}.", remedy="Start it again.")
        raise described(expiry, status)
    # A finished export without a file is not an empty one: that has a file without rows.
    if not status.files:
        keys = f"Keys seen: {', '.join(status.keys)[:_LONGEST_KEYS] or 'none'}"
        place = service.export.names.get("file") if service.export else None
        if place and service.probe_date is not None:
            raise changed(service, f"a finished export has no {place}. {keys}")
        raise errors.ProtocolError(
            f"The export is done, but the answer names no file to download. {keys}.",
            remedy=remedy("file_address"),
        )
    return status
