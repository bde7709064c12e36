"""Bulk exports as jobs.

    pending -> processing -> completed -> expired
                          -> failed

A job is a row of ``state.db``, so it survives a restart. Its file gets its name only when it is
complete. The same request returns the same job while the data is unchanged.
"""

import asyncio
import hashlib
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from adanalytics_server.clock import Clock
from adanalytics_server.dialect import Outcome
from adanalytics_server.settings import Settings
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.pages import HourReplaced, Span, read_spans
from adanalytics_server.storage.state import State
from adanalytics_server.storage.store import Stores

from .files import ExportStopped, FormatName, write_export
from .table import ExportJob, ExportRequest, ExportTable

# Until a job is tried again whose state could not be stored.
RETRY_SECONDS = 60.0

_log = logging.getLogger("adanalytics_server.exports")


class Exports:
    """Creates export jobs, writes their files (large ones in turn), and removes old ones."""

    def __init__(self, state: State, stores: Stores, settings: Settings, clock: Clock) -> None:
        self.table = ExportTable(state, clock)
        self._stores = stores
        self._inline_max = settings.export_inline_max
        self._dialect = settings.dialect
        self._folder = settings.data / "exports"
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._ordering = asyncio.Lock()
        # How many responses have described a job since its order, for a dialect that waits.
        self.responses: dict[str, int] = {}
        self._inline: dict[str, asyncio.Task[None]] = {}
        self._stopping = threading.Event()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Run the worker during a block, starting with jobs that a restart interrupted."""
        await self._remove_expired()
        await self._remove_strays()
        await self.requeue_unfinished()
        worker = asyncio.create_task(self._work(), name="exports")
        try:
            yield
        finally:
            # A thread cannot be cancelled, so ask it to stop. Its job starts again after a restart.
            self._stopping.set()
            worker.cancel()
            await asyncio.gather(worker, *self._inline.values(), return_exceptions=True)

    async def requeue_unfinished(self) -> None:
        """Queue all waiting jobs; the worker skips those that are finished by then."""
        self.responses.clear()
        for export_id in await self.table.waiting():
            self._queue.put_nowait(export_id)

    async def order(
        self,
        partner: int,
        days: DayRange,
        *,
        form: FormatName,
        compression: str,
        outcome: Outcome | None = None,
    ) -> ExportJob:
        """Return the job of a request: an existing one for the same data, or a new one.

        A job of up to ``export_inline_max`` rows is finished on return. An ``outcome``, which only
        tests set, always makes a new job, and the worker ignores it.
        """
        await self._remove_expired()
        spans = await asyncio.to_thread(read_spans, self._stores.of(partner), days)
        start, end = days.start.isoformat(), days.end.isoformat()
        request = ExportRequest(partner, start, end, form, compression, _fingerprint(spans))
        async with self._ordering:
            job = await self._existing(request) if outcome is None else None
            if job is None:
                job = await self.table.create(request)
                if outcome == "stuck":
                    await self.table.update(job, {"status": "processing"})
                elif outcome == "failed":
                    await self._fail(job, "No space left on device")
                elif sum(span.n for span in spans) <= self._inline_max:
                    self._begin_inline(job)
                else:
                    self._queue.put_nowait(job.id)
        # Outside the lock, so that a request waits for its own file only.
        if (writing := self._inline.get(job.id)) is not None:
            await asyncio.shield(writing)
        return await self.table.job(job.id) or job

    def path(self, job: ExportJob) -> Path:
        """Return the path of a job's file, which may not exist yet."""
        return self._folder / f"{job.id}{job.suffix}"

    async def _remove_strays(self) -> None:
        """Delete files without a finished job, such as those of a killed server."""
        files = {self.path(job) for job in await self.table.with_files(expired=False)}

        def remove() -> None:
            for file in self._folder.glob("*"):
                if file not in files:
                    file.unlink()

        await asyncio.to_thread(remove)

    async def _remove_expired(self) -> None:
        """Delete the files of expired jobs; the jobs stay."""
        for job in await self.table.with_files(expired=True):
            await asyncio.to_thread(self.path(job).unlink, missing_ok=True)
            await self.table.update(job, {"status": "expired"})

    async def _existing(self, request: ExportRequest) -> ExportJob | None:
        job = await self.table.newest(request)
        if job is None or job.status == "expired":
            return None
        # Somebody may have deleted the file.
        is_there = job.is_waiting or await asyncio.to_thread(self.path(job).is_file)
        return job if is_there else None

    async def _fail(self, job: ExportJob, reason: str) -> None:
        await self.table.update(job, {"status": "failed", "error": reason})

    def _begin_inline(self, job: ExportJob) -> None:
        """Write a file in a task that its request and all repetitions wait for."""

        async def write() -> None:
            try:
                await self._run(job.id)
            except (OSError, sqlite3.Error):
                self._queue.put_nowait(job.id)
                raise

        task = asyncio.create_task(write(), name=f"export {job.id}")
        self._inline[job.id] = task
        task.add_done_callback(lambda _: self._inline.pop(job.id))

    async def _work(self) -> None:
        while True:
            export_id = await self._queue.get()
            try:
                await self._run(export_id)
            except (OSError, sqlite3.Error) as error:
                # Not even the failure could be stored. There may be space later.
                _log.error("export %s is postponed: %s", export_id, error)
                await asyncio.sleep(RETRY_SECONDS)
                self._queue.put_nowait(export_id)

    async def _run(self, export_id: str) -> None:
        job = await self.table.job(export_id)
        # A reset of a test may have removed the job since it was queued.
        if job is None or not job.is_waiting:
            return
        await self.table.update(job, {"status": "processing"})
        days = DayRange(job.start_date, job.end_date)
        try:
            result = await asyncio.to_thread(
                write_export,
                self._stores.of(job.partner),
                self._dialect.stored(days),
                self.path(job),
                form=job.format,
                compression=job.compression,
                change=partial(self._dialect.file_of, days) if self._dialect.changes_rows else None,
                stopping=self._stopping.is_set,
            )
        # It stays `processing`, and the next start of the server begins it anew.
        except ExportStopped:
            return
        # Reasons that help the client, such as a full disk; others may tell too much of the server.
        except (OSError, sqlite3.Error, HourReplaced) as error:
            _log.error("export %s failed: %s", job.id, error)
            await self._fail(job, getattr(error, "strerror", None) or str(error))
            return
        except Exception:  # noqa: BLE001  # the worker must go on with the next job
            _log.exception("export %s failed", job.id)
            await self._fail(job, "the server could not write the file; its log says why")
            return
        await self.table.update(job, {"status": "completed", **result._asdict()})


def _fingerprint(spans: list[Span]) -> str:
    """Hash the row numbers of each hour. Stored jobs are found by it: never change its text.

    The row numbers change even if an hour is replaced by the same number of rows.
    """
    text = "\n".join(f"{hour} {first} {rows}" for hour, first, rows in spans)
    return hashlib.sha256(text.encode()).hexdigest()
