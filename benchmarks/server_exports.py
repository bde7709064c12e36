"""CPU time of bulk exports, as ratios against the simplest way to write the same file.

    python benchmarks/server_exports.py [EVENTS]

Each ratio is the CPU time of this process against that of the named peer in the same run.
"""

import csv
import hashlib
import math
import resource
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from adanalytics_server.exports.files import write_export
from adanalytics_server.seed.generate import Sample, generate
from adanalytics_server.storage.chunks import split_pieces
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import EVENT_FIELDS, decode_event
from adanalytics_server.storage.pages import read_in_parts, read_spans
from adanalytics_server.storage.store import PartnerStore

START = date(2026, 1, 15)
DAYS = DayRange(START, START + timedelta(days=9))
REPEATS = 5


def cpu_seconds(folder: Path, *works: Callable[[Path], object]) -> list[float]:
    """Return the CPU time of each work, the system's for it included, at the best of some rounds.

    A round takes each work in turn, so that what else the machine does is for all of them. Each
    writes a file that is not there yet, as an export is: taking an old one away is not measured.
    """
    best = [math.inf] * len(works)
    for _ in range(REPEATS):
        for number, work in enumerate(works):
            target = folder / f"target-{number}"
            before = time.process_time()
            work(target)
            best[number] = min(best[number], time.process_time() - before)
            target.unlink(missing_ok=True)
    return best


def say(what: str, ratio: float, limit: str) -> None:
    print(f"{what:<58} {ratio:>6.2f}   {limit}")


def resident_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make_peer(folder: Path, store: PartnerStore) -> Path:
    """Write the events into a table with a column for each field, as a simple server would."""
    path = folder / "plain.db"
    marks = ", ".join("?" for _ in EVENT_FIELDS)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE events ({', '.join(EVENT_FIELDS)})")
        for pieces in read_in_parts(store, read_spans(store, DAYS), rows=5_000):
            bodies = split_pieces(pieces)
            rows = [msgspec.structs.astuple(decode_event(body)) for body in bodies]
            connection.executemany(
                f"INSERT INTO events VALUES ({marks})",
                [(*row[:-1], msgspec.json.encode(row[-1]).decode()) for row in rows],
            )
        connection.commit()
    return path


def plain_csv(database: Path, target: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, target.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(EVENT_FIELDS)
        writer.writerows(connection.execute("SELECT * FROM events"))


def copy_and_hash(source: Path, target: Path) -> None:
    """Copy a file and compute its SHA-256, as an export must: it is the ETag of a download."""
    shutil.copyfile(source, target)
    digest(target)


def digest(source: Path) -> None:
    with source.open("rb") as file:
        hashlib.file_digest(file, "sha256")


def main(events: int) -> None:
    """Generate events over ten days and export them in every format."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        store = PartnerStore(folder / "1")
        sample = Sample(start=START, days=10, events_per_day=events // 10, seed=1)
        generate(store, sample, partner_id="acme", currency="USD")
        print(f"{events:,} events over 10 days")
        before = resident_megabytes()

        def export(target: Path, form: str, compression: str = "none") -> None:
            write_export(store, DAYS, target, form=form, compression=compression)

        text = folder / "events.jsonl"
        export(text, "jsonl")
        export(folder / "events.csv", "csv")
        grown = resident_megabytes() - before
        database = make_peer(folder, store)
        jsonl, hashed, copy, digested, in_csv, peer, gzipped, parquet = cpu_seconds(
            folder,
            lambda target: export(target, "jsonl"),
            lambda target: copy_and_hash(text, target),
            lambda target: shutil.copyfile(text, target),
            lambda _target: digest(text),
            lambda target: export(target, "csv"),
            lambda target: plain_csv(database, target),
            lambda target: export(target, "csv", "gzip"),
            lambda target: export(target, "parquet"),
        )
        say("rate of csv / csv.writer over sqlite rows", peer / in_csv, "at least 1.25")
        # The digest is part of an export: it is the ETag, and clients compare it.
        say("rate of jsonl / a copy of the file and its SHA-256", hashed / jsonl, "at least 0.5")
        without = "for information"
        say("rate of jsonl / shutil.copyfile, without a SHA-256", copy / jsonl, without)
        # The kernel copies without passing the bytes to the program: the digest alone is slower.
        say("rate of the SHA-256 alone / shutil.copyfile", copy / digested, without)
        say("megabytes of growth for csv and jsonl", grown, "flat")
        say("rate of csv.gz / csv.writer", peer / gzipped, "for information")
        say("rate of parquet / csv.writer", peer / parquet, "for information")
        store.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
