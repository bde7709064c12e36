"""Load a CSV file of events into one table of SQLite with executemany."""

import csv
import sqlite3
import sys
from contextlib import closing
from pathlib import Path


def main(source: Path, target: Path) -> None:
    """Create the table, with the id as its key, and insert all rows in one transaction."""
    with closing(sqlite3.connect(target)) as connection, source.open(newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        columns = ", ".join(f"{name} UNIQUE" if name == "event_id" else name for name in names)
        connection.execute(f"CREATE TABLE events ({columns})")
        marks = ", ".join("?" for _ in names)
        connection.executemany(f"INSERT INTO events VALUES ({marks})", rows)
        connection.execute("CREATE INDEX by_day ON events (event_date)")
        connection.commit()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
