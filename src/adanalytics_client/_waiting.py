"""Wait for a bulk export until it is done, has failed, or the time is over."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from adanalytics_client._checks import check_seconds
from adanalytics_client._deadline import Deadline
from adanalytics_client._effects import Operation, Sleep
from adanalytics_client._export import ExportPhase, ExportStatus
from adanalytics_client._export_order import ExportOrder
from adanalytics_client._exporting import ask_again, described
from adanalytics_client._hooks import WaitStarted, tell
from adanalytics_client._retry import FIRST_PAUSE, LONGEST_PAUSE, pause_before
from adanalytics_client._session import Session
from adanalytics_client.errors import (
    ExportExpired,
    ExportFailed,
    ExportTimeout,
    ProtocolError,
    ServerError,
    TransportError,
)


def wait_for(
    session: Session,
    order: ExportOrder,
    known: ExportStatus,
    *,
    timeout: float,
    heard: Callable[[ExportStatus], None] | None = None,
) -> Operation[ExportStatus]:
    """Ask until the export is done. A service that fails meanwhile is asked again, too.

    Args:
        session: the client's session.
        order: what was ordered.
        known: what was last learned.
        timeout: seconds to wait at most.
        heard: told what each answer says, so that it is known even if the wait ends with an error.

    Raises:
        ExportFailed: with the service's reason.
        ExportExpired: when its files are gone.
        ExportTimeout: after `timeout` seconds, with the last status word.
        ServerError, TransportError: when the service still fails then.
        QuotaExceeded: when the requests of the hour are used up for longer than that.
        ProtocolError: when it is done without a file, or a page comes instead of an answer to the
            end.
    """
    check_seconds("timeout", timeout, zero=True)
    deadline = session.clock.monotonic() + timeout
    questions, over = 0, False
    if known.done and not known.files and known.poll_url is not None:
        # Some services say so a moment before they name the file.
        known = replace(known, phase=ExportPhase.WORKING)
    while known.phase is ExportPhase.WORKING:
        left = deadline - session.clock.monotonic()
        asked = _still_asked(session, known)
        if over or left <= 0 or asked > left:
            raise described(_too_late(timeout, asked, known), known)
        # "At once" is no answer to how soon: without a pause the hour's requests would be gone.
        seconds = min(asked or pause_before(questions), left)
        # Whatever the clock says then: it may move by less than it was told.
        over = seconds == left
        resumes_at = datetime.fromtimestamp(session.clock.time() + seconds, tz=UTC)
        tell(
            session.observer.wait,
            WaitStarted(f"export {known.word or 'working'}", seconds, resumes_at),
        )
        yield Sleep(seconds)
        questions += 1
        left = deadline - session.clock.monotonic()
        hasty = _within(session, left, f"wait(timeout={timeout:g})")
        try:
            known = yield from ask_again(hasty, order, known)
        except (ServerError, TransportError, ProtocolError) as error:
            passing = not isinstance(error, ProtocolError) or error.unreadable
            if not passing or over or session.clock.monotonic() >= deadline:
                raise
            known = replace(known, retry_after=None)
        if heard is not None:
            heard(known)
    return _finished(known)


def questions_within(seconds: float) -> int:
    """How often `wait_for` asks in so many seconds when the service names no pause."""
    pause, asked = FIRST_PAUSE, 1
    while pause < LONGEST_PAUSE and seconds > pause:
        seconds, pause, asked = seconds - pause, pause_before(asked), asked + 1
    return asked + int(max(0.0, seconds) // LONGEST_PAUSE)


def _still_asked(session: Session, known: ExportStatus) -> float:
    """Seconds that are left of the pause that the service asked for, maybe some time ago."""
    if known.retry_after is None or known.told_at is None:
        return known.retry_after or 0.0
    passed = session.clock.time() - known.told_at.timestamp()
    return max(0.0, known.retry_after - max(0.0, passed))


def _within(session: Session, left: float, name: str) -> Session:
    """The session for one question that waits and repeats no longer than `left` seconds."""
    clock, config = session.clock, session.config
    hurry = Deadline(clock, clock.monotonic() + max(left, FIRST_PAUSE), name)
    max_wait = min(config.max_wait, max(left, 0.0))
    return replace(session, config=replace(config, max_wait=max_wait), hurry=hurry)


def _too_late(timeout: float, asked: float, known: ExportStatus) -> ExportTimeout:
    told = f"; the service says to ask again in {asked:.0f} s" if asked else ""
    because = f", and {known.reason}" if known.reason else ""
    return ExportTimeout(
        f"The export is not done within {timeout:g} s; its last status is "
        f"{known.word or 'unknown'!r}{because}{told}. Wait longer, or wait again later."
    )


def _finished(known: ExportStatus) -> ExportStatus:
    if known.phase is ExportPhase.FAILED:
        reason = (known.reason or f"its status is {known.word!r}, without a reason").rstrip(".")
        raise described(
            ExportFailed(f"The export failed: {reason}. Start it again, or ask for less."), known
        )
    if known.phase is ExportPhase.EXPIRED:
        told = f": {known.reason.rstrip('.')}. Start" if known.reason else "; start"
        raise described(ExportExpired(f"The export has expired{told} it again."), known)
    if not known.files:
        raise ProtocolError(
            "The export is done, but the answer names no file to download. "
            f"Keys seen: {', '.join(known.keys) or 'none'}. The whole answer is last_status.answer "
            "of the job that start_export gives: fetch the file from the address that it holds, or "
            "ask the service where its address is."
        )
    return known
