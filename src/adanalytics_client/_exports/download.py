"""Download the files of an export: resumed if that is safe, verified, then renamed."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from adanalytics_client._base import effects
from adanalytics_client._base.choices import Check
from adanalytics_client._base.deadline import Deadline
from adanalytics_client._base.validation import check_choice, check_seconds, invalid
from adanalytics_client._call.attempts import Access, Rules, attempts
from adanalytics_client._call.exchange import Exchange
from adanalytics_client._call.failures import (
    FailedAttempt,
    attempt_without_response,
    refused_attempt,
    stated_reason,
)
from adanalytics_client._call.session import Session
from adanalytics_client._json.fields import FieldNames
from adanalytics_client._quota.headers import retry_after
from adanalytics_client.errors import (
    AuthenticationError,
    ChecksumMismatch,
    ConfigurationError,
    DownloadError,
    ExportError,
    ExportExpired,
    RateLimited,
    StatusError,
    TransportError,
)

from .answer import status_from
from .comparison import compare
from .content import AGAIN, LOOK_AT_FILE, FileOrder, incomplete
from .names import name_of, named_format, paths_in
from .part import check_writable, source_of
from .status import ExportFile, ExportOrder, ExportStatus
from .transfer import FileRange, Transfer
from .wait import ask_address, described, is_signed, wait_for

# A file that is stored compressed must arrive unchanged, so that ranges count its own bytes.
_AS_STORED = ("accept-encoding", "identity")
_SHOWN_NAMES = 5
_REPORT = "It came so twice: report it to the service, or pull pages."

_Receiving = Transfer | FileRange


def check_download(
    to: str | os.PathLike[str],
    timeout: float,
    file_format: str | None,
    compression: str | None,
    check: Check,
) -> tuple[str, str | None]:
    """Return what to order for a file, after a check that it can be written; nothing is sent."""
    check_seconds("timeout", timeout, zero=True)
    check_choice("check", check, Check)
    if not isinstance(to, str | os.PathLike):
        raise invalid("to", to, "Pass the path of the file to create.")
    check_writable(Path(to))
    return named_format(Path(to), file_format, compression)


class ExportDownload:
    """The download of all files of an export; `status` is the latest known.

    Args:
        check: whether to compare the events with the service's own count.
        any_format: take csv or parquet, whichever arrives: a service may ignore the order's format.
            As nobody looks at such a file, the end of its last record must be known.
    """

    def __init__(
        self,
        session: Session,
        order: ExportOrder,
        status: ExportStatus,
        check: Check = "auto",
        *,
        any_format: bool = False,
    ) -> None:
        check_choice("check", check, Check)
        self.status = status
        self._session = session
        self._order = order
        self._check = check
        self._any_format = any_format
        self._renewed_at, self._fault = -1, ""
        self._timeout = 0.0

    def run(self, path: Path, *, timeout: float) -> effects.Operation[Path]:
        """Wait for the export and fetch every file; either all of them appear or none.

        It waits at most `timeout` seconds for the files, not counting the download itself.
        """
        yield effects.Atomic(lambda: check_writable(path))
        clock, self._timeout = self._session.clock, timeout
        ready_by = Deadline(clock, clock.monotonic() + timeout, f"timeout={timeout:g}")
        self.status = yield from wait_for(
            self._session, self._order, self.status, timeout=timeout, keep=self._keep
        )
        transfers = []
        transfer = None
        try:
            for number, target in enumerate(self._targets(path)):
                # Opened here and not in a thread, where a cancellation would leave it open.
                transfer = yield effects.Atomic(self._opening(target, number))
                transfers.append(transfer)
                yield from self._fetch(number, transfer, ready_by)
            yield from self._compare(transfers)
            for transfer in transfers:
                yield effects.Offload(transfer.commit)
        except DownloadError as error:
            error.amended(part=_kept(transfer, transfers))
            raise
        except (StatusError, TransportError) as error:
            part_path = _kept(transfer, transfers)
            if part_path is None or self._caller_acts_first(error):
                raise
            size = sum(part.received for part in transfers)
            raise DownloadError(
                f"The download broke off after {size} bytes: {error.message}",
                remedy=f"What arrived is kept in {part_path}, and the same call resumes from "
                "there.",
                part=part_path,
                request_id=error.request_id,
                attempts=error.attempts,
                url=error.url,
            ) from error
        finally:
            for transfer in transfers:
                transfer.close()
        return path

    def fetch_range(self, sink: FileRange) -> effects.Operation[None]:
        """Fetch a range of the file of an export that is done."""
        clock = self._session.clock
        yield from self._fetch(0, sink, Deadline(clock, clock.monotonic(), "0"))

    def _compare(self, transfers: list[Transfer]) -> effects.Operation[None]:
        """Compare the rows of all files with the numbers that the service states."""
        contents = [transfer.content for transfer in transfers]
        try:
            self.status = yield from compare(
                self._session,
                self._order,
                self.status,
                contents,
                self._check,
                needs_end=self._any_format,
            )
        except DownloadError:
            for transfer in transfers:
                # A later run would find the same bytes complete.
                transfer.restart()
            raise

    def _keep(self, status: ExportStatus) -> None:
        self.status = status

    def _caller_acts_first(self, error: StatusError | TransportError) -> bool:
        """Return whether the caller must act first; `close` raises an error without attempts."""
        policy = self._session.config.quota
        asked_for = isinstance(error, RateLimited) and policy.on_limit == "raise"
        return asked_for or isinstance(error, AuthenticationError) or error.attempts == 0

    def _targets(self, path: Path) -> list[Path]:
        """Return the path of each file; all stay open and locked until the last has arrived."""
        files = self.status.files
        if path.is_dir():
            return paths_in(path, files)
        if len(files) > 1:
            raise ConfigurationError(
                f"The export has {len(files)} files.", remedy="Name a folder that exists."
            )
        return [path]

    def _opening(self, target: Path, number: int) -> Callable[[], Transfer]:
        place, order = self._session.address("bulk-export"), self._order
        service = self._session.config.service
        names = FieldNames(service.fields, service.time_field)
        form = "" if self._any_format else order.format
        is_gzip = order.compression == "gzip" or target.suffix.lower() == ".gz"
        return partial(
            Transfer,
            target,
            self.status.files[number],
            source_of(place, order, self.status, number),
            FileOrder(form, order.start, order.end, names, service.tzinfo(), is_gzip),
            self._session.observer,
        )

    def _fetch(
        self, number: int, transfer: _Receiving, ready_by: Deadline
    ) -> effects.Operation[None]:
        def request() -> effects.Request:
            url = self.status.files[number].url
            return effects.Request("GET", url, (_AS_STORED, *transfer.ranges()))

        self._renewed_at, self._fault = -1, ""
        judge = partial(self._judge, transfer)
        rules = Rules(Access.BARE_FIRST, carry=False, appears_by=ready_by)
        deadline = self._session.deadline()
        yield from attempts(self._session, request, judge, rules, sink=transfer, deadline=deadline)

    def _judge(
        self, transfer: _Receiving, exchange: Exchange
    ) -> effects.Operation[FailedAttempt | None]:
        """Return None when the file is complete, else its problem; renew an expired address."""
        attempt = yield from self._problem_of(exchange, transfer)
        if attempt is None:
            return None
        is_refused = isinstance(attempt.error, ExportExpired | AuthenticationError)
        # Once, unless bytes arrive in between.
        if is_refused and transfer.received > self._renewed_at:
            self._renewed_at = transfer.received
            status = yield from _renewed(self._session, self._order, self.status)
            if status is not None:
                self.status = status
                return attempt._replace(at_once=True)
        return attempt._replace(progress=transfer.received)

    def _problem_of(
        self, exchange: Exchange, transfer: _Receiving
    ) -> effects.Operation[FailedAttempt | None]:
        outcome, session = exchange.outcome, self._session
        if isinstance(outcome, effects.Failure):
            return _broken(session, outcome, exchange.url, transfer)
        if not transfer.accepted:
            return self._refusal(outcome, exchange, transfer)
        if transfer.total is not None and transfer.received < transfer.total:
            return FailedAttempt(_short(transfer), can_retry=True)
        had_earlier_bytes = transfer.has_earlier_bytes
        try:
            yield effects.Offload(transfer.verify)
        except DownloadError as error:
            transfer.restart()
            # Bytes of an earlier run may have changed on the disk; new ones would be the same
            # again. An error in place of the file goes away; what comes twice alike stays.
            is_same, self._fault = error.message == self._fault, error.message
            may_help = error.remedy.code in {AGAIN.code, LOOK_AT_FILE.code} and not is_same
            may_help = may_help and not isinstance(error, ChecksumMismatch)
            if is_same and error.remedy.code == AGAIN.code:
                error.amended(remedy=_REPORT)
            return FailedAttempt(error, can_retry=had_earlier_bytes or may_help)
        return None

    def _may_appear(self, reply: effects.Reply, url: str, transfer: _Receiving) -> bool:
        """Return whether a refused object may not exist yet.

        Until then presigned addresses respond with 404, or with 403 if the signer may not list
        objects: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
        """
        status, now = self.status, self._session.clock.time()
        answered_at = now if status.answered_at is None else status.answered_at.timestamp()
        if transfer.received or (status.address_exists and status.poll_url is None):
            return False
        # A 403 is that of a missing object only at a signed address, and only if no status ever
        # told more about the export.
        missing = reply.status == 404 or (
            reply.status == 403 and status.status_text is None and is_signed(self._session, url)
        )
        return missing and now - answered_at < self._timeout

    def _refusal(
        self, reply: effects.Reply, exchange: Exchange, transfer: _Receiving
    ) -> FailedAttempt:
        """Describe the problem of a response that is not the file."""
        session, form, url = self._session, self._order.format, exchange.url
        pause = retry_after(reply.head, session.clock.time())
        # The part is longer than the file, so it is of another version.
        if reply.status == 416:
            transfer.restart()
            error = incomplete("The service does not have the rest of the file.")
            return FailedAttempt(error, can_retry=True)
        if reply.status == 202:
            error = DownloadError("The file is not ready yet.", remedy="Wait for the export first.")
            return FailedAttempt(error, can_retry=True, retry_after=pause, absent=True)
        # A page of a proxy or of a login, which goes away by itself; the body says which.
        if 200 <= reply.status < 400:
            reason, _ = stated_reason(reply, session.credentials)
            kind = reply.head.media_type or "an answer without a media type"
            text = f"The service sent {kind} ({reason}), not the {form} file."
            return FailedAttempt(DownloadError(text, remedy=LOOK_AT_FILE), can_retry=True)
        limited = reply.status == 403 and reply.head.get("retry-after") is not None
        # A signed address needs no credential, so a 401 there is an expired signature, too.
        missing_statuses = {403, 404, 410} | ({401} if exchange.has_signature else set())
        if reply.status in missing_statuses and not limited:
            text = f"The file is no longer offered ({reply.status})."
            expiry = ExportExpired(text, remedy="Start the export again.")
            absent = self._may_appear(reply, url, transfer)
            return FailedAttempt(described(expiry, self.status), can_retry=False, absent=absent)
        return refused_attempt(session, reply, url, repeatable=True)


def _broken(
    session: Session, failure: effects.Failure, url: str, transfer: _Receiving
) -> FailedAttempt:
    """Describe the problem of a body that did not end properly, or of a missing response."""
    if failure.kind is effects.FailureKind.UNREADABLE:
        transfer.restart()
        return FailedAttempt(
            incomplete(f"The file arrived damaged ({failure.detail})."), can_retry=True
        )
    # Once bytes arrived, the error says how many, since the next attempt begins behind them.
    has_part = transfer.received and failure.kind is effects.FailureKind.BROKEN
    if has_part or failure.kind is effects.FailureKind.TRUNCATED:
        return FailedAttempt(_short(transfer), can_retry=True)
    return attempt_without_response(
        failure, url, repeatable=True, limit_name=session.limit_of(None)
    )


def _short(transfer: _Receiving) -> DownloadError:
    total = f" of {transfer.total}" if transfer.total is not None else ""
    return incomplete(f"The file ended after {transfer.received}{total} bytes.")


def _kept(present: Transfer | None, transfers: list[Transfer]) -> str | None:
    """Return the part that is kept of the current file, else of an earlier one."""
    paths = (part.kept for part in (present, *reversed(transfers)) if part)
    return next((str(path) for path in paths if path is not None), None)


def _renewed(
    session: Session, order: ExportOrder, last_status: ExportStatus
) -> effects.Operation[ExportStatus | None]:
    """Return the status with fresh addresses of the same files, or None without a way to them.

    The ETag and the checksum prove later that a file is unchanged.
    """
    # Only an address to poll gives new addresses without another export.
    if last_status.poll_url is None:
        return None
    try:
        answer = yield from ask_address(session, order, last_status.poll_url)
        status = status_from(session, order, answer)
    except StatusError:
        return None
    if (
        None not in (last_status.export_id, status.export_id)
        and last_status.export_id != status.export_id
    ):
        raise _gone(f"the service answered with another export ({status.export_id})", last_status)
    # Still the same export, whose files the service does not list any more: the caller's error
    # about the old address says more.
    if not status.files:
        return None
    pairs = [*zip(last_status.files, status.files, strict=False)]
    alike = (_may_be_same(*pair, single=len(pairs) == 1) for pair in pairs)
    if len(last_status.files) != len(status.files) or not all(alike):
        raise _gone(
            f"the service now lists {_listed(status)}, not {_listed(last_status)}", last_status
        )
    files = tuple(replace(old, url=new.url) for old, new in pairs)
    return (
        None
        if files == last_status.files
        else replace(last_status, files=files, answer=status.answer)
    )


def _may_be_same(old: ExportFile, new: ExportFile, *, single: bool) -> bool:
    """Return whether two files agree in all that is stated of both; of several, also the name."""
    names = (old.name, new.name) if single else (name_of(old), name_of(new))
    pairs = names, (old.sha256, new.sha256), (old.size_bytes, new.size_bytes)
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


def _listed(status: ExportStatus) -> str:
    names = [name_of(file) or "a file without a name" for file in status.files]
    rest = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _gone(change: str, status: ExportStatus) -> ExportError:
    text = f"The addresses of the files have expired, and {change}."
    return described(ExportExpired(text, remedy="Order it again."), status)
