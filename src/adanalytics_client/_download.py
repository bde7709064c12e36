"""Download the files of an export: resumed where that is safe, proven whole, then renamed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adanalytics_client._deadline import Deadline
from adanalytics_client._effects import (
    Atomic,
    Offload,
    Operation,
)
from adanalytics_client._export import ExportStatus
from adanalytics_client._export_order import ExportOrder
from adanalytics_client._fetching import fetch_file
from adanalytics_client._file_names import targets_in
from adanalytics_client._instead import Wanted
from adanalytics_client._open_files import check_open_files
from adanalytics_client._part import PartFile
from adanalytics_client._part_place import check_arrival
from adanalytics_client._renewal import renewed
from adanalytics_client._session import Session
from adanalytics_client._source import Source
from adanalytics_client._waiting import wait_for
from adanalytics_client.errors import (
    AuthenticationError,
    ConfigurationError,
    DownloadError,
    ExportExpired,
    RateLimited,
    StatusError,
    TransportError,
)


@dataclass(slots=True)
class Delivery:
    """The files of a finished export on their way, and the status with their present addresses."""

    session: Session
    order: ExportOrder
    status: ExportStatus

    def run(self, path: Path, *, timeout: float) -> Operation[Path]:
        """Wait for the export and fetch every file; all of them appear, or none does.

        Args:
            path: the file to make, or an existing folder for an export of several files.
            timeout: seconds to wait at most until the files are made, also anew; the time in which
                they arrive does not count.

        Raises:
            ConfigurationError: when `path` does not fit the number of files, or when they are more
                than the process may have open.
            OSError: when nothing can be written there; seen before it waits.
            ExportError: when the export does not end well in time, or a file is no longer offered.
            DownloadError: when a file does not arrive whole, whatever ended it, if that is kept.
            StatusError, TransportError: when nothing that arrived is kept.
            RateLimited: also when something is, where the caller wants to wait for himself.
            AuthenticationError: also when something is.
        """
        yield Atomic(lambda: check_arrival(path))
        clock = self.session.clock
        ready_by = Deadline(clock, clock.monotonic() + timeout, f"timeout={timeout:g}")
        self.status = yield from wait_for(
            self.session, self.order, self.status, timeout=timeout, heard=self._learn
        )
        parts: list[PartFile] = []
        part: PartFile | None = None
        try:
            for number, target in enumerate(_targets(self.status, path)):
                # Opened at once and not in a thread: a cancellation then would leave it to nobody.
                part = yield Atomic(self._opening(target, number))
                parts.append(part)
                yield from self._fetch(number, part, ready_by=ready_by)
            self._see_events(parts)
            for part in parts:
                yield Offload(part.commit)
        except DownloadError as error:
            error.part = _kept(part, parts)
            raise
        except (StatusError, TransportError) as error:
            kept = _kept(part, parts)
            if kept is None or self._is_for_the_caller(error):
                raise
            raise _broken_off(error, kept, sum(each.received for each in parts)) from error
        finally:
            for part in parts:
                part.leave()
        return path

    def _is_for_the_caller(self, error: StatusError | TransportError) -> bool:
        """Whether it says what to do before going on; one without an attempt is of `close`."""
        asked_for = isinstance(error, RateLimited) and self.session.config.on_limit == "raise"
        return asked_for or isinstance(error, AuthenticationError) or error.attempts == 0

    def _learn(self, status: ExportStatus) -> None:
        self.status = status

    def _opening(self, target: Path, number: int) -> Callable[[], PartFile]:
        file, observer = self.status.files[number], self.session.observer
        place = self.session.address("bulk-export")
        source = Source.of(place, self.order, self.status, number)
        packed = self.order.compression == "gzip" or target.suffix.lower() == ".gz"
        return lambda: PartFile(target, file, source=source, packed=packed, observer=observer)

    def _see_events(self, parts: list[PartFile]) -> None:
        """Neither a length nor a checksum may be announced, but nothing is not some events."""
        events = self.status.row_count
        if events and not any(part.received for part in parts):
            raise DownloadError(
                f"The file came empty, of an export of {events} events; download it again."
            )

    def _fetch(self, number: int, part: PartFile, *, ready_by: Deadline) -> Operation[None]:
        """One file; an address that has expired is asked for anew, once without getting further."""
        reached, status = -1, self.status
        wanted = Wanted(self.order.format, status.row_count if len(status.files) == 1 else None)
        while True:
            file = self.status.files[number]
            try:
                return (yield from fetch_file(self.session, file, part, wanted, ready_by=ready_by))
            except (ExportExpired, AuthenticationError):
                # Some services refuse an address that has expired as they refuse a credential.
                if part.received <= reached:
                    raise
                fresh = yield from renewed(self.session, self.order, self.status, ready_by)
                if fresh is None:
                    raise
            reached = part.received
            self.status = fresh
            part.expect(fresh.files[number])


def _kept(part: PartFile | None, parts: list[PartFile]) -> str | None:
    """What is kept of the present file, else of the one before it."""
    found = (each.kept for each in (part, *reversed(parts)) if each is not None)
    return next((str(kept) for kept in found if kept is not None), None)


def _broken_off(error: StatusError | TransportError, kept: str, received: int) -> DownloadError:
    return DownloadError(
        f"The download broke off after {received} bytes: {error.message} "
        f"What arrived is kept in {kept}, and the same call goes on from there.",
        part=kept,
        request_id=error.request_id,
        attempts=error.attempts,
        url=error.url,
    )


def _targets(status: ExportStatus, path: Path) -> list[Path]:
    if len(status.files) == 1:
        return [path]
    if not path.is_dir():
        raise ConfigurationError(f"The export has {len(status.files)} files; name a folder.")
    check_open_files(len(status.files))
    return targets_in(path, status.files)
