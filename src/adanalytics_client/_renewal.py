"""Get fresh addresses for the files of a finished export whose signed ones have expired."""

from dataclasses import replace

from adanalytics_client._deadline import Deadline
from adanalytics_client._effects import Operation
from adanalytics_client._export import ExportStatus
from adanalytics_client._export_order import ExportOrder
from adanalytics_client._exporting import described, look, order_export, status_of
from adanalytics_client._listed_anew import called, matched
from adanalytics_client._session import Session
from adanalytics_client._status_sink import StatusSink
from adanalytics_client._waiting import wait_for
from adanalytics_client.errors import ExportError, ExportExpired, StatusError

_SHOWN_NAMES = 5


def renewed(
    session: Session, order: ExportOrder, known: ExportStatus, ready_by: Deadline
) -> Operation[ExportStatus | None]:
    """The status with other addresses for the same files in the same order, or None.

    The status address is asked first. The order is repeated only where an earlier repeat was
    answered with the same export: elsewhere it might start another one. Files that are made anew
    are waited for until `ready_by`.

    Raises:
        ExportExpired: when the answers are about another export, or list other files.
        ExportFailed, ExportTimeout: when the service makes the files anew and does not succeed.
    """
    fresh: ExportStatus | None = None
    if known.poll_url is not None:
        answer = yield from _tried(_asked(session, order, known.poll_url))
        fresh = yield from _settled(session, order, known, answer, ready_by)
    if fresh is None and known.repeats:
        answer = yield from _tried(order_export(session, order, again=True))
        ids = (known.export_id, answer.export_id if answer else None)
        if None not in ids and ids[0] != ids[1]:
            raise _gone(f"the repeated order was answered with another export ({ids[1]})", known)
        fresh = yield from _settled(session, order, known, answer, ready_by)
    return fresh


def _asked(session: Session, order: ExportOrder, url: str) -> Operation[ExportStatus]:
    answer = yield from look(session, url, StatusSink(order.format))
    return status_of(session, answer)


def _tried(asking: Operation[ExportStatus]) -> Operation[ExportStatus | None]:
    try:
        return (yield from asking)
    except (StatusError, ExportExpired):
        return None


def _settled(
    session: Session,
    order: ExportOrder,
    known: ExportStatus,
    answer: ExportStatus | None,
    ready_by: Deadline,
) -> Operation[ExportStatus | None]:
    if answer is None:
        return None
    waiting = wait_for(session, order, answer.after(known), timeout=ready_by.left)
    fresh = yield from _tried(waiting)
    if fresh is None:
        return None
    files = matched(known.files, fresh.files)
    if files is None:
        told = f"the service now lists {_listed(fresh)} instead of {_listed(known)}"
        raise _gone(told, known)
    return replace(fresh, files=files) if files != known.files else None


def _listed(status: ExportStatus) -> str:
    names = [called(each) or "a file without a name" for each in status.files]
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def _gone(told: str, known: ExportStatus) -> ExportError:
    return described(
        ExportExpired(f"The addresses of the files have expired, and {told}. Order it again."),
        known,
    )
