"""Bulk exports as jobs: pending, processing, then completed or failed; expired in the end.

A job is a row of ``state.db``, so it survives a restart; its file appears under its own name
only when it is whole. The same request, while the data are the same, is the same job.
"""

import asyncio
import hashlib
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Literal
from uuid import uuid4

from adanalytics_server.clock import Clock
from adanalytics_server.export_job import ExportJob
from adanalytics_server.exportfiles import ExportStopped, write_export
from adanalytics_server.paging import read_spans
from adanalytics_server.ranges import DayRange
from adanalytics_server.settings import Settings
from adanalytics_server.state import State
from adanalytics_server.stores import Stores
from adanalytics_server.text_reading import HourReplaced

Fate = Literal["stuck", "failed"]
_FATES: dict[Fate, str] = {
    "stuck": "status = 'processing'",
    "failed": "status = 'failed', error = 'No space left on device'",
}

_log = logging.getLogger(__name__)


class Exports:
    """Takes orders for exports, works them off one at a time, and finds their files."""

    def __init__(self, state: State, stores: Stores, settings: Settings, clock: Clock) -> None:
        self._state = state
        self._stores = stores
        self._settings = settings
        self._clock = clock
        self._folder = settings.data / "exports"
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._ordering = asyncio.Lock()
        self._stopping = threading.Event()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Run the worker for the time of a block, beginning with what a restart left over."""
        await asyncio.to_thread(self._remove_unfinished)
        await self._remove_expired()
        await self.take_up()
        worker = asyncio.create_task(self._work(), name="exports")
        try:
            yield
        finally:
            # A thread cannot be cancelled: it is asked to stop, and its job begins again later.
            self._stopping.set()
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker

    async def take_up(self) -> None:
        """Queue all jobs that wait; one that is queued already is worked off only once."""
        for row in await self._state.rows(
            "SELECT id FROM exports WHERE status IN ('pending', 'processing') ORDER BY created_at"
        ):
            self._queue.put_nowait(row["id"])

    async def order(
        self,
        partner: int,
        days: DayRange,
        *,
        form: str,
        compression: str,
        fate: Fate | None = None,
    ) -> ExportJob:
        """Return the job of a request: the one that is there for the same data, or a new one.

        Up to ``export_inline_max`` rows the job comes back finished. With a ``fate``, which only
        tests have for it, it is a new one in any case, and nobody works it off.
        """
        await self._remove_expired()
        spans = await asyncio.to_thread(read_spans, self._stores.of(partner), days)
        rows = sum(span.n for span in spans)
        fingerprint = hashlib.sha256(repr(spans).encode()).hexdigest()
        async with self._ordering:
            job = None
            if fate is None:
                job = await self._same(partner, days, form, compression, fingerprint)
            if job is None:
                job = await self._create(partner, days, form, compression, fingerprint)
                if fate is not None:
                    await self._update(job, _FATES[fate])
                elif rows <= self._settings.export_inline_max:
                    await self._run(job.id)
                else:
                    self._queue.put_nowait(job.id)
        return await self.job(job.id) or job

    async def job(self, export_id: str) -> ExportJob | None:
        """Return a job by its id, or ``None``."""
        row = await self._state.row("SELECT * FROM exports WHERE id = ?", export_id)
        return None if row is None else self._job(row)

    async def latest(self, partner: int, *, most: int) -> list[ExportJob]:
        """List the newest jobs of the partner with this number, newest first."""
        rows = await self._state.rows(
            "SELECT * FROM exports WHERE partner = ? ORDER BY created_at DESC, id LIMIT ?",
            partner,
            most,
        )
        return [self._job(row) for row in rows]

    async def count_by_status(self) -> dict[str, int]:
        """Count the jobs of all partners by their status in ``state.db``."""
        rows = await self._state.rows("SELECT status, COUNT(*) AS n FROM exports GROUP BY status")
        return {row["status"]: row["n"] for row in rows}

    def path(self, job: ExportJob) -> Path:
        """Return where the file of a job is, or will be."""
        return self._folder / f"{job.id}{job.suffix}"

    def _remove_unfinished(self) -> None:
        """Delete what a killed server was writing; its jobs are still there and begin again."""
        for part in self._folder.glob("*.part"):
            part.unlink()

    async def _remove_expired(self) -> None:
        """Delete files that nobody can download any more; their jobs stay, as expired."""
        limit = self._clock.now() - self._settings.export_lifetime * 1000
        for row in await self._state.rows(
            "SELECT * FROM exports WHERE status = 'completed' AND created_at <= ?", limit
        ):
            job = self._job(row)
            await asyncio.to_thread(self.path(job).unlink, missing_ok=True)
            await self._update(job, "status = 'expired'")

    async def _same(
        self, partner: int, days: DayRange, form: str, compression: str, fingerprint: str
    ) -> ExportJob | None:
        row = await self._state.row(
            "SELECT * FROM exports WHERE partner = ? AND start_date = ? AND end_date = ?"
            " AND format = ? AND compression = ? AND fingerprint = ? AND status != 'failed'"
            " ORDER BY created_at DESC LIMIT 1",
            partner,
            days.start.isoformat(),
            days.end.isoformat(),
            form,
            compression,
            fingerprint,
        )
        job = None if row is None else self._job(row)
        if job is None or job.status == "expired":
            return None
        # A file that somebody deleted is not one to send people to.
        is_there = job.is_waiting or await asyncio.to_thread(self.path(job).is_file)
        return job if is_there else None

    async def _create(
        self, partner: int, days: DayRange, form: str, compression: str, fingerprint: str
    ) -> ExportJob:
        export_id = str(uuid4())
        async with self._state.writing() as connection:
            await connection.execute(
                "INSERT INTO exports (id, partner, status, format, compression, start_date,"
                " end_date, fingerprint, created_at) VALUES (?, ?, 'pending', ?, ?, ?, ?, ?, ?)",
                (
                    export_id,
                    partner,
                    form,
                    compression,
                    days.start.isoformat(),
                    days.end.isoformat(),
                    fingerprint,
                    self._clock.now(),
                ),
            )
        job = await self.job(export_id)
        if job is None:
            raise LookupError(f"export {export_id} vanished while it was ordered")
        return job

    async def _work(self) -> None:
        while True:
            await self._run(await self._queue.get())

    async def _run(self, export_id: str) -> None:
        job = await self.job(export_id)
        if job is None or not job.is_waiting:
            return
        await self._update(job, "status = 'processing'")
        try:
            finished = await asyncio.to_thread(
                write_export,
                self._stores.of(job.partner),
                DayRange(job.start_date, job.end_date),
                self.path(job),
                form=job.format,
                compression=job.compression,
                stopping=self._stopping.is_set,
            )
        except ExportStopped:
            return
        except (OSError, sqlite3.Error, HourReplaced) as error:
            _log.error("export %s failed: %s", job.id, error)
            await self._fail(job, getattr(error, "strerror", None) or str(error))
            return
        except Exception:  # noqa: BLE001 - whatever it was, the worker lives on for the next job
            _log.exception("export %s failed", job.id)
            await self._fail(job, "the server could not write the file; its log says why")
            return
        await self._update(
            job,
            "status = 'completed', finished_at = ?, row_count = ?, size_bytes = ?, sha256 = ?",
            self._clock.now(),
            finished.row_count,
            finished.size_bytes,
            finished.sha256,
        )

    async def _fail(self, job: ExportJob, reason: str) -> None:
        await self._update(
            job, "status = 'failed', finished_at = ?, error = ?", self._clock.now(), reason
        )

    async def _update(self, job: ExportJob, assignments: str, *values: object) -> None:
        async with self._state.writing() as connection:
            await connection.execute(
                f"UPDATE exports SET {assignments} WHERE id = ?",  # noqa: S608 - literals above
                (*values, job.id),
            )

    def _job(self, row: sqlite3.Row) -> ExportJob:
        expires_at = row["created_at"] + self._settings.export_lifetime * 1000
        return ExportJob(
            id=row["id"],
            partner=row["partner"],
            status="expired" if self._clock.now() >= expires_at else row["status"],
            format=row["format"],
            compression=row["compression"],
            start_date=date.fromisoformat(row["start_date"]),
            end_date=date.fromisoformat(row["end_date"]),
            created_at=row["created_at"],
            expires_at=expires_at,
            row_count=row["row_count"],
            size_bytes=row["size_bytes"],
            sha256=row["sha256"],
            error=row["error"],
        )
