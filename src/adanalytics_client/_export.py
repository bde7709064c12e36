"""What is known of a bulk export: its state, its files, and where to ask next."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from adanalytics_client._json import Json


class ExportPhase(Enum):
    """Where an export stands, whatever the service's word for it is.

    Example:
        >>> job.status().phase is ExportPhase.DONE
        True
    """

    WORKING = "working"
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class ExportFile:
    """One file of an export. The address may be signed, so it is not shown.

    Attributes:
        url: where it is, absolute; as text it is whole, its repr leaves a signature out.
        name: its file name, where the service gave one.
        size_bytes: its length, where known.
        sha256: its checksum in hex, where known.

    Example:
        >>> (file,) = job.wait().files
        >>> file.size_bytes, len(file.sha256)
        (82412, 64)
    """

    url: str = field(repr=False)
    name: str | None = None
    size_bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ExportStatus:
    """What is known of an export.

    Attributes:
        phase: working, done, failed or expired.
        word: the service's own word, or None when it gave none.
        export_id: the service's id, where it gave one.
        files: what can be downloaded; while working, what will be.
        reason: why it failed or is not done, or what a finished one lacks, in the service's
            words where it says so.
        row_count: events in the export, where known.
        retry_after: seconds after which to ask again, where the service said so.
        told_at: when the service said this, in UTC.
        poll_url: where to ask again.
        keys: the names that the answer had, for error messages.
        repeats: whether a repeated order was answered with this same export.
        answer: everything the service said last, by its own names.

    Example:
        >>> status = job.status()
        >>> status.done, status.word, status.row_count, status.answer["format"]
        (True, 'completed', 300, 'csv')
    """

    phase: ExportPhase
    word: str | None = None
    export_id: str | None = None
    files: tuple[ExportFile, ...] = ()
    reason: str | None = None
    row_count: int | None = None
    retry_after: float | None = None
    told_at: datetime | None = field(default=None, repr=False, compare=False)
    poll_url: str | None = field(default=None, repr=False)
    keys: tuple[str, ...] = field(default=(), repr=False)
    repeats: bool = False
    answer: dict[str, Json] = field(default_factory=dict, repr=False, hash=False)

    @property
    def done(self) -> bool:
        """Whether its files can be downloaded."""
        return self.phase is ExportPhase.DONE

    def after(self, earlier: "ExportStatus") -> "ExportStatus":
        """This status with what only an earlier answer said.

        Example:
            >>> first, later = job.last_status, job.status()
            >>> later.after(first).export_id == first.export_id
            True
        """
        return replace(
            self,
            export_id=self.export_id or earlier.export_id,
            files=self.files or earlier.files,
            row_count=earlier.row_count if self.row_count is None else self.row_count,
            poll_url=self.poll_url or earlier.poll_url,
            repeats=self.repeats or earlier.repeats,
            answer=self.answer or earlier.answer,
        )
