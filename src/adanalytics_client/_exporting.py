"""Start a bulk export, and ask for its status by whichever way its answers support."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from adanalytics_client._call import Answer, Ask, call
from adanalytics_client._dates import Day
from adanalytics_client._effects import Operation, Request
from adanalytics_client._export import ExportFile, ExportPhase, ExportStatus
from adanalytics_client._export_answer import following, read_status
from adanalytics_client._export_order import ExportOrder
from adanalytics_client._json import Json
from adanalytics_client._login import JSON_BODY
from adanalytics_client._partial import tell_partial
from adanalytics_client._problems import request_id_of
from adanalytics_client._retry import retry_after
from adanalytics_client._saved import SavedExport
from adanalytics_client._session import Session
from adanalytics_client._status_or_file import Arrived
from adanalytics_client._status_sink import StatusSink, read_answer
from adanalytics_client._url import redact_url
from adanalytics_client.errors import (
    AuthenticationError,
    ExportError,
    ExportExpired,
    ExportFailed,
    InvalidRequest,
    PermissionDenied,
    ProtocolError,
    StatusError,
)

_BAD_REQUEST = 400
_UNAUTHORIZED = 401
_NOT_FOUND = 404
_GONE = 410
# What stores answer for a file that is still being written.
_NOT_YET = frozenset({403, _NOT_FOUND, 409, 423, 425})


def start_export(
    session: Session,
    start: Day,
    end: Day | None,
    *,
    file_format: str,
    compression: str | None,
) -> Operation[SavedExport]:
    """Order an export once, and keep what another process would need of it.

    Raises:
        ConfigurationError: for a wrong day or an empty format.
        ExportFailed, ProtocolError: as for `order_export`.
    """
    order = ExportOrder.make(start, end, file_format=file_format, compression=compression)
    status = yield from order_export(session, order)
    return SavedExport.of(session.config, order, status)


def order_export(
    session: Session, order: ExportOrder, *, again: bool = False
) -> Operation[ExportStatus]:
    """Ask for an export. `again` repeats an order, which then may also be retried.

    Raises:
        ExportFailed: when a success carries an error and no export.
        ProtocolError: when the answer names only some of the files.
    """
    url = session.address("bulk-export")
    headers = (JSON_BODY, ("accept", "application/json"))
    request = Request("POST", url, headers, order.body())
    answer = yield from call(session, Ask(request, repeatable=again), read_answer)
    status = status_of(session, answer)
    if status.phase is ExportPhase.FAILED and status.word is None:
        raise ExportFailed(
            f"The service refused the export: {(status.reason or 'no reason given').rstrip('.')}. "
            "Ask for less, or try later.",
            request_id=request_id_of(answer.reply.head),
            url=redact_url(answer.url),
        )
    return status


def ask_again(session: Session, order: ExportOrder, known: ExportStatus) -> Operation[ExportStatus]:
    """The present status: from its status address, else its only file's, else by ordering again.

    Raises:
        ExportExpired: when the file's address is no longer valid.
        ProtocolError: when a repeated order only starts another export.
    """
    if known.phase is not ExportPhase.WORKING:
        return known
    # Of several files that are there already, nobody knows whether more are to come.
    if known.poll_url is None and len(known.files) != 1:
        return (yield from _ordered_again(session, order, known))
    place = known.poll_url or known.files[0].url
    sink = StatusSink(order.format, of_file=known.poll_url is None)
    try:
        answer = yield from look(session, place, sink)
    except StatusError as error:
        return _without(error, known)
    if answer.value is Arrived.FILE:
        file = known.files or (ExportFile(known.poll_url or ""),)
        return ExportStatus(ExportPhase.DONE, known.word, files=file).after(known)
    fresh = status_of(session, answer)
    if not answer.value:
        # Nothing said is no end: only a state, an address or the file is.
        fresh = replace(fresh, phase=ExportPhase.WORKING, word=known.word)
    return following(fresh, known)


def _ordered_again(
    session: Session, order: ExportOrder, known: ExportStatus
) -> Operation[ExportStatus]:
    fresh = yield from order_export(session, order, again=True)
    named = None not in (fresh.export_id, known.export_id)
    if named and fresh.export_id != known.export_id and fresh.phase is ExportPhase.WORKING:
        raise ProtocolError(
            f"The repeated order started another export ({fresh.export_id} beside "
            f"{known.export_id}), and no answer says where to ask for the first one. "
            "Ask the service for its address, or ask for fewer days at once.",
            url=redact_url(session.address("bulk-export")),
        )
    same = named and fresh.export_id == known.export_id
    return following(replace(fresh, repeats=same), known)


def look(session: Session, url: str, sink: StatusSink) -> Operation[Answer[Json | Arrived]]:
    """Ask an address for its status, with the credential or without, then the other way round.

    Which of the two it wants cannot be known beforehand: an address of the API answers 401 without
    a credential, a signed one 400 with it, as S3 does. One may redirect to the other.
    """
    home, authorized = session.config.base.owns(url), not sink.of_file
    ask = Ask(Request("GET", url), authorized=authorized and home, sink=sink)
    tried: list[Ask] = []
    while True:
        tried.append(ask)
        try:
            return (yield from call(session, ask, sink.read))
        except (AuthenticationError, InvalidRequest) as error:
            other = _other_way(ask, error) if home else None
            if other is None or other in tried:
                raise
        ask = other


def _other_way(ask: Ask, error: StatusError) -> Ask | None:
    """How else an address may be asked after a refusal."""
    if error.status == _UNAUTHORIZED:
        return None if ask.authorized else replace(ask, authorized=True)
    if error.status != _BAD_REQUEST or not ask.authorized:
        return None
    if error.url == redact_url(ask.request.url):
        return replace(ask, authorized=False)
    return replace(ask, carry=False)


def _without(error: StatusError, known: ExportStatus) -> ExportStatus:
    """What a refusal of the address says of the export; of a file, that it may be to come.

    Raises:
        ExportExpired: when it is gone.
        StatusError: when it tells nothing of the export.
    """
    of_file = known.poll_url is None
    if of_file and known.word is not None and error.status in _NOT_YET:
        told = f"its file is not there ({error.status}: {error.reason.rstrip('.')})"
        return replace(known, retry_after=None, reason=told)
    if of_file and isinstance(error, PermissionDenied):
        expired = ExportExpired("The export has expired; start it again.")
    elif error.status in {_NOT_FOUND, _GONE}:
        named = f" {known.export_id}" if known.export_id else ""
        expired = ExportExpired(
            f"The service knows no export{named} at the address that it gave for it "
            f"({error.status}). Wait again where it was started just now, else start it again.",
            request_id=error.request_id,
            attempts=error.attempts,
            url=error.url,
        )
    else:
        raise error
    raise described(expired, known) from None


def status_of(session: Session, answer: Answer[Json]) -> ExportStatus:
    """What an answer says about an export, without any secret that it may echo.

    Of an error beside what is done, the observer and the log are told.
    """
    head = answer.reply.head
    asked = retry_after(head, session.clock.time()) if head.get("retry-after") else None
    found = answer.checked(
        session.credentials,
        lambda: read_status(answer.value, head, url=answer.url, retry_after=asked),
    )
    tell_partial(session, answer, (found.done and found.reason) or "")
    redact, shown = session.credentials.redact, session.credentials.shown
    return replace(
        found,
        word=shown(found.word) if found.word else None,
        export_id=shown(found.export_id) if found.export_id else None,
        files=tuple(replace(file, name=redact(file.name or "") or None) for file in found.files),
        reason=shown(found.reason) if found.reason else None,
        told_at=datetime.fromtimestamp(session.clock.time(), tz=UTC),
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
    """The error with the id and the last word of the export it is about."""
    error.export_id, error.status = known.export_id, known.word
    return error
