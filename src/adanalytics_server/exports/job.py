"""What is known about one bulk export."""

from dataclasses import dataclass
from datetime import date

from adanalytics_server.storage.days import DayRange


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What somebody wants a file of; ``fingerprint`` changes with the events of the range."""

    partner: int
    days: DayRange
    format: str
    compression: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ExportJob:
    """One bulk export. Times in milliseconds since 1970; ``status`` is one of the five words."""

    id: str
    partner: int
    status: str
    format: str
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
        """How the names of its file end; a parquet file is compressed inside and stays one."""
        is_wrapped = self.compression == "gzip" and self.format != "parquet"
        return f".{self.format}.gz" if is_wrapped else f".{self.format}"

    @property
    def filename(self) -> str:
        """The name a browser saves the file under."""
        return f"events_{self.start_date}_{self.end_date}{self.suffix}"

    @property
    def is_waiting(self) -> bool:
        """Whether the file is still to come."""
        return self.status in {"pending", "processing"}
