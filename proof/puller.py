"""One process that pulls again and again, as `proof.load` starts it: puller.py WAY SECONDS FOLDER.

It prints a line of JSON for each pull: when it began and ended, how, and what it holds.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Literal

from adanalytics_client import AdAnalyticsError, Client, QuotaExceeded, QuotaPolicy
from adanalytics_client.dataset import Dataset, DatasetError
from proof.trial import (
    COLUMNS,
    FIRST,
    LAST,
    OTHER,
    QUERY,
    SAME,
    TYPED,
    Rows,
    csv_rows,
    essence,
    held_rows,
    is_told,
    warnings_logged,
)

# Requests an hour for each key: few, so that the processes often come to the end of them.
LIMIT = 200
TIME = COLUMNS.index("event_time")
Held = dict[str, str]
"""A digest for each hour; for a summary, its amounts for each day."""


def digests(rows: Rows) -> Held:
    """Return a digest of the sorted rows of each hour."""
    hours: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        hours.setdefault(row[TIME][:13], []).append(row)
    return {hour: sha256(repr(of).encode()).hexdigest() for hour, of in hours.items()}


def summary(client: Client, _: Path) -> Held:
    rows = client.summary(FIRST, LAST, group_by="day").rows
    return {str(row.date): f"{row.impressions} {row.revenue:f} {row.cost:f}" for row in rows}


def events(client: Client, _: Path) -> Held:
    return digests(essence(client.events(FIRST, LAST, split="hourly").rows()))


def pages(client: Client, _: Path) -> Held:
    return digests(essence(client.events(FIRST, LAST, split="daily", per_page=500).rows()))


def export(client: Client, folder: Path) -> Held:
    return digests(csv_rows(client.export(FIRST, LAST, to=folder / "export.csv")))


def sync_pages(client: Client, folder: Path) -> Held:
    return _synced(Dataset(folder / "by-pages"), client, "pages")


def sync_export(client: Client, folder: Path) -> Held:
    return _synced(Dataset(folder / "by-export"), client, "export")


def _synced(dataset: Dataset, client: Client, via: Literal["pages", "export"]) -> Held:
    report = dataset.sync(client, FIRST, LAST, via=via)
    if report.failed:
        raise DatasetError(report.failed[0].message)
    return digests(held_rows(Path(dataset.place)))


def query(_: Client, folder: Path) -> Held:
    """Read the dataset while another process syncs it."""
    time.sleep(0.5)
    return digests(essence(Dataset(folder / "by-pages").query(QUERY).to_pylist()))


WAYS: dict[str, Callable[[Client, Path], Held]] = {
    each.__name__: each for each in (summary, events, pages, export, sync_pages, sync_export, query)
}


def main(way: str, seconds: str, name: str) -> None:
    """Pull until the time is over, with one key after the other as their quotas are used up."""
    keys, folder = os.environ["PROOF_KEYS"].split(), Path(name)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        told: dict[str, object] = {"began": time.monotonic(), "outcome": SAME, "held": {}}
        with (
            warnings_logged() as warnings,
            Client.from_env(
                api_key=keys[0], quota=QuotaPolicy(limit=LIMIT, on_limit="raise")
            ) as client,
        ):
            try:
                told["held"] = WAYS[way](client, folder)
            except QuotaExceeded:
                keys = keys[1:]
                continue
            except AdAnalyticsError as error:
                told |= {"outcome": TYPED, "why": str(error)}
            except Exception as error:  # noqa: BLE001  # it is what is counted
                told |= {"outcome": OTHER, "why": repr(error)}
            told["warned"] = is_told(warnings)
        print(json.dumps(told | {"ended": time.monotonic()}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
