"""Get fresh addresses for the files of a finished export whose signed ones have expired."""

from adanalytics_client._effects import Operation
from adanalytics_client._export import ExportStatus
from adanalytics_client._export_order import ExportOrder
from adanalytics_client._exporting import look, order_export, status_of
from adanalytics_client._session import Session
from adanalytics_client._waiting import ONE_HOUR, wait_for
from adanalytics_client.errors import ExportExpired, StatusError


def renewed(
    session: Session, order: ExportOrder, known: ExportStatus
) -> Operation[ExportStatus | None]:
    """The status with other addresses for the same number of files, or None.

    The status address is asked first. The order is repeated only where an earlier repeat was
    answered with the same export: elsewhere it might start another one.

    Raises:
        ExportFailed, ExportTimeout: when the service makes the files anew and does not succeed.
    """
    if known.poll_url is not None:
        fresh = yield from _settled(session, order, known, _asked(session, known.poll_url))
        if fresh is not None:
            return fresh
    if known.repeats:
        again = order_export(session, order, again=True)
        return (yield from _settled(session, order, known, again))
    return None


def _asked(session: Session, url: str) -> Operation[ExportStatus]:
    answer = yield from look(session, url, authorized=True)
    return status_of(session, answer)


def _settled(
    session: Session, order: ExportOrder, known: ExportStatus, asking: Operation[ExportStatus]
) -> Operation[ExportStatus | None]:
    try:
        fresh = (yield from asking).after(known)
        fresh = yield from wait_for(session, order, fresh, timeout=ONE_HOUR)
    except (StatusError, ExportExpired):
        return None
    usable = len(fresh.files) == len(known.files) and fresh.files != known.files
    return fresh if usable else None
