"""An export of one CSV file, as the tests of exports and downloads ask for it."""

import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, Variant

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
class OneExport:
    """An export that a stand-in answers for, and the client that downloads it to a folder."""

    stand_in: StandIn
    open_variant: OpenVariant
    folder: Path

    @cached_property
    def variant(self) -> Variant:
        """The client of all that a test does in one run."""
        return self.open_variant()

    @property
    def asked(self) -> list[Asked]:
        return self.stand_in.asked

    @property
    def files(self) -> dict[str, bytes]:
        """The names of what is in the folder, and their content."""
        return {each.name: each.read_bytes() for each in self.folder.iterdir()}

    def says(self, **answers: list[Say]) -> None:
        self.stand_in.says_by_name(**answers)

    def offer(self, *answers: Say, **measures: Any) -> None:
        """Name the file `/f.csv` in answer to an order, and give these answers for it."""
        self.says(bulk_export=[Say({"download_url": "/f.csv", **measures})], f_csv=[*answers])

    def order(self) -> Any:
        """Start the export of a day, and return the job."""
        return self.variant.call("start_export", "2026-01-01")

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

    def on(self, thing: Any, name: str, *args: Any, **options: Any) -> Any:
        """Call a method of a job in the variant."""
        return self.variant.on(thing, name, *args, **options)

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
