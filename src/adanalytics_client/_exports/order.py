"""Order a bulk export, once or again."""

from dataclasses import replace

from adanalytics_client._base.dates import Day, to_range
from adanalytics_client._base.effects import Operation, Request
from adanalytics_client._base.urls import redact_url
from adanalytics_client._call.attempts import Rules, call
from adanalytics_client._call.credentials import JSON_BODY
from adanalytics_client._call.session import Session
from adanalytics_client.errors import ExportFailed, ProtocolError, ServerError, TransportError

from .answer import read_body, status_from
from .saved import SavedExport
from .status import ExportOrder, ExportPhase, ExportStatus


def start_export(
    session: Session, start: Day, end: Day | None, *, file_format: str, compression: str | None
) -> Operation[SavedExport]:
    days = to_range(start, end, today=session.today())
    order = ExportOrder(*days, file_format, compression)
    status = yield from order_export(session, order)
    config = session.config
    return SavedExport(config.base.text, config.partner or "", order, status)


def order_export(session: Session, order: ExportOrder) -> Operation[ExportStatus]:
    """Order an export."""
    url = session.address("bulk-export")
    headers = (JSON_BODY, ("accept", "application/json"))
    request = Request("POST", url, headers, order.body())
    answer = yield from call(session, request, read_body, Rules(repeatable=False))
    status = status_from(session, order, answer)
    if status.phase is ExportPhase.FAILED and status.status_text is None:
        raise ExportFailed(
            f"The service refused the export: {(status.reason or 'no reason given').rstrip('.')}.",
            remedy="Ask for less, or try later.",
            request_id=session.credentials.request_id(answer.reply.head),
            url=redact_url(answer.url),
        )
    return status


def repeat_order(
    session: Session, order: ExportOrder, last_status: ExportStatus
) -> Operation[ExportStatus]:
    """Send the order a second time, which may return the status of the export or start another.

    If that fails, the order may have arrived nevertheless, so it counts as sent.
    """
    last_status = replace(last_status, order_repeated=True, retry_after=None)
    try:
        status = yield from order_export(session, order)
    # The first order stands, and its address may still answer.
    except (ServerError, TransportError):
        return last_status
    have_ids = None not in (status.export_id, last_status.export_id)
    if (
        have_ids
        and status.export_id != last_status.export_id
        and status.phase is ExportPhase.WORKING
    ):
        raise ProtocolError(
            f"The repeated order started another export ({status.export_id} beside "
            f"{last_status.export_id}), and no answer gives the address of the first one.",
            remedy="Ask the service for its address, or ask for fewer days at once.",
            url=redact_url(session.address("bulk-export")),
        )
    return status.after(last_status)
