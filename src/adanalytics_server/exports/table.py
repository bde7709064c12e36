"""The export jobs, and their table in ``state.db``."""

import sqlite3
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple
from uuid import uuid4

import msgspec

from adanalytics_server.clock import Clock
from adanalytics_server.storage.state import State

from .files import FORMATS, FormatName


class ExportRequest(NamedTuple):
    """The request of an export; ``fingerprint`` changes with the events of the range."""

    partner: int
    start_date: str
    end_date: str
    format: FormatName
    compression: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ExportJob:
    """One bulk export. Times are in milliseconds since 1970; ``status`` is as in the API."""

    id: str
    partner: int
    status: str
    format: FormatName
    compression: str
    start_date: date
    end_date: date
    created_at: int
    expires_at: int
    row_count: int | None
    size_bytes: int | None
    sha256: str | None
    error: str | None

    @property
    def suffix(self) -> str:
        """The suffix of the file; one that is compressed internally gets no ``.gz``."""
        is_wrapped = self.compression == "gzip" and not FORMATS[self.format].has_types
        return f".{self.format}.gz" if is_wrapped else f".{self.format}"

    @property
    def filename(self) -> str:
        """The name under which a browser saves the file."""
        return f"events_{self.start_date}_{self.end_date}{self.suffix}"

    @property
    def is_waiting(self) -> bool:
        return self.status in {"pending", "processing"}


# In milliseconds; a day.
_LIFETIME = 86_400_000


@dataclass(eq=False, repr=False)
class ExportTable:
    """One row per job; after its lifetime a job is expired, whatever its row says."""

    _state: State
    _clock: Clock

    async def job(self, export_id: str) -> ExportJob | None:
        return next(iter(await self._jobs("id = ?", export_id)), None)

    async def newest(self, request: ExportRequest) -> ExportJob | None:
        """Return the newest job of exactly this request that did not fail, or ``None``."""
        jobs = await self._jobs(
            "partner = ? AND start_date = ? AND end_date = ? AND format = ? AND compression = ?"
            " AND fingerprint = ? AND status != 'failed' ORDER BY created_at DESC LIMIT 1",
            *request,
        )
        return next(iter(jobs), None)

    async def latest(self, partner: int, *, limit: int) -> list[ExportJob]:
        """List the newest jobs of the partner with this number, newest first."""
        return await self._jobs("partner = ? ORDER BY created_at DESC, id LIMIT ?", partner, limit)

    async def waiting(self) -> list[str]:
        """List the ids of the jobs in progress, oldest first."""
        jobs = await self._jobs("status IN ('pending', 'processing') ORDER BY created_at")
        return [job.id for job in jobs]

    async def with_files(self, *, expired: bool) -> list[ExportJob]:
        """List the jobs that have a file: all of them, or only the expired ones."""
        limit = self._clock.milliseconds() - _LIFETIME if expired else sys.maxsize
        return await self._jobs("status = 'completed' AND created_at <= ?", limit)

    async def create(self, request: ExportRequest) -> ExportJob:
        export_id = str(uuid4())
        await self._state.write(
            "INSERT INTO exports (id, partner, start_date, end_date, format, compression,"
            " fingerprint, status, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?)",
            export_id,
            *request,
            self._clock.milliseconds(),
        )
        (job,) = await self._jobs("id = ?", export_id)
        return job

    async def update(self, job: ExportJob, changes: Mapping[str, object]) -> None:
        """Store new values of columns; an end, completed or failed, with its time."""
        if "row_count" in changes or "error" in changes:
            changes = {**changes, "finished_at": self._clock.milliseconds()}
        assignments = ", ".join(f"{column} = ?" for column in changes)
        statement = f"UPDATE exports SET {assignments} WHERE id = ?"  # noqa: S608  # names of columns
        await self._state.write(statement, *changes.values(), job.id)

    async def _jobs(self, condition: str, *values: object) -> list[ExportJob]:
        rows = await self._state.rows(f"SELECT * FROM exports WHERE {condition}", *values)  # noqa: S608  # written in this class; values are bound
        return [self._job(row) for row in rows]

    def _job(self, row: sqlite3.Row) -> ExportJob:
        values = {**row, "expires_at": row["created_at"] + _LIFETIME}
        if self._clock.milliseconds() >= values["expires_at"]:
            values["status"] = "expired"
        return msgspec.convert(values, ExportJob)
