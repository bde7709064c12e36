"""An export of one CSV file, as the tests of exports and downloads ask for it."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.client.bench import Bench
from tests.client.stand_in import Say
from tests.client.variants import Variant

Failure = TypeVar("Failure", bound=Exception)
FILE = b"a,b\r\n" + b"1,2\r\n" * 2000
PATH = "/api/partners/acme/ad-analytics/bulk-export"
CSV = {"Content-Type": "text/csv"}


def parquet(rows: int = 3) -> bytes:
    """Return a Parquet file."""
    file = io.BytesIO()
    pq.write_table(pa.table({"event_id": [str(row) for row in range(rows)]}), file)
    return file.getvalue()


@dataclass
class OneExport(Bench):
    """An export that a stand-in answers for, and the client that downloads it to a folder."""

    folder: Path

    @property
    def files(self) -> dict[str, bytes]:
        """The names of what is in the folder, and their content."""
        return {each.name: each.read_bytes() for each in self.folder.iterdir()}

    def offer(self, *answers: Say, **measures: Any) -> None:
        """Name the file `/f.csv` in answer to an order, and give these answers for it."""
        self.says(bulk_export=[Say({"download_url": "/f.csv", **measures})], f_csv=[*answers])

    def order(self) -> Any:
        """Start the export of a day, and return the job."""
        return self.call("start_export", "2026-01-01")

    def queues(
        self, *answers: Say, at: str = "status_url", status: str = "pending", **order: Any
    ) -> Any:
        """Start an export that waits at an address, where these answers come, and return the job.

        Its file is `/f.csv`.
        """
        queued = Say({"status": status, at: "/st", **order}, status=202)
        self.says(bulk_export=[queued], st=[*answers], f_csv=[Say(FILE, headers=CSV)])
        return self.order()

    def fetch(self, name: str = "out.csv", by: Variant | None = None, **options: Any) -> bytes:
        """Order the export, and return the file that is downloaded."""
        options = {"to": self.folder / name, "check": "none", **options}
        path: Path = (by or self.variant).call("export", "2026-01-01", "2026-01-31", **options)
        return path.read_bytes()

    def download(self, job: Any, name: str = "out.csv") -> bytes:
        """Return the file of a job, or nothing of those that it downloads to a folder."""
        path = self.folder / name
        self.on(job, "download", path, check="none")
        return path.read_bytes() if name else b""

    def fails(
        self,
        kind: type[Failure] | tuple[type[Failure], ...],
        match: str | None = None,
        **options: Any,
    ) -> Failure:
        """Return the error that a download ends with."""
        with pytest.raises(kind, match=match) as caught:
            self.fetch(**options)
        return caught.value
