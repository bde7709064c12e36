"""An export of one CSV file, as the tests of exports and downloads ask for it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.client.stand_in import Say

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.stand_in import StandIn
    from tests.client.variants import Variant

FILE = b"a,b\r\n" + b"1,2\r\n" * 2000
PATH = "/api/partners/acme/ad-analytics/bulk-export"
CSV = {"Content-Type": "text/csv"}


def parquet(rows: int = 3) -> bytes:
    """Return a Parquet file."""
    file = io.BytesIO()
    pq.write_table(pa.table({"event_id": [str(row) for row in range(rows)]}), file)
    return file.getvalue()


def fetch(variant: Variant, path: Path) -> Path:
    """Order the export and download it."""
    result: Path = variant.call("export", "2026-01-01", "2026-01-31", to=path, check="none")
    return result


def offer(stand_in: StandIn, *answers: Say, **measures: Any) -> None:
    """Name the file `/f.csv` in answer to an order, and give these answers for it."""
    order = Say({"download_url": "/f.csv", **measures})
    stand_in.says_by_name(bulk_export=[order], f_csv=[*answers])
