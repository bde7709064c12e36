"""The texts of a month's events, written: a file that only grows, and an index of its chunks.

``YYYY-MM.N.events`` holds the JSON texts with commas between them, as they stand in a page, so
that many rows are one read and no join. The month's database says where each chunk of
consecutive rows is. ``N`` counts the times the file was written anew, to get rid of what
replaced hours had left in it.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, NamedTuple

from adanalytics_server.storage.cut_back import cut_back_on_failure
from adanalytics_server.storage.damage import DamagedFile
from adanalytics_server.storage.joined_rows import BEGIN, END, count_rows

# Rows of one chunk: what has to be read and cut for a page that begins or ends within it.
CHUNK_ROWS = 128
# A file is written anew when more than this, and more than half of it, is of no use.
MOST_WASTE = 4 << 20
_BUFFER_BYTES = 1 << 20


class Chunk(NamedTuple):
    """``n`` consecutive rows from ``key`` on: ``length`` bytes of the file at ``position``."""

    key: int
    n: int
    position: int
    length: int

    @property
    def end(self) -> int:
        """The position behind the last byte; a comma is there."""
        return self.position + self.length


def text_path(folder: Path, month: str, generation: int) -> Path:
    """Return where the texts of a month (``YYYY-MM``) are."""
    return folder / f"{month}.{generation}.events"


def generation_of(connection: sqlite3.Connection) -> int:
    """Read from a month's database which file its chunks are in."""
    (number,) = connection.execute("SELECT generation FROM text_file").fetchone()
    return int(number)


class TextWriter:
    """Appends rows to a month's file and index, inside the transaction of its connection."""

    def __init__(self, connection: sqlite3.Connection, file: IO[bytes]) -> None:
        self._connection = connection
        self._file = file
        self._end = file.tell()

    def append(self, key: int, bodies: list[bytes]) -> None:
        """Store rows of one hour under consecutive keys from ``key`` on."""
        chunks = []
        for start in range(0, len(bodies), CHUNK_ROWS):
            rows = bodies[start : start + CHUNK_ROWS]
            text = b",".join([*rows, b""])
            self._file.write(text)
            chunks.append(Chunk(key + start, len(rows), self._end, len(text) - 1))
            self._end += len(text)
        self._connection.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?)", chunks)

    def join_small_chunks(self, low: int, high: int) -> None:
        """Make full chunks of those that many small loads left among the keys of one hour.

        Texts that stand apart in the file are written once more, behind its end, so that whoever
        reads from it meanwhile reads on. All rows of the range have to be visible ones.

        Raises:
            DamagedFile: the texts are not where they should be.
        """
        bounds = (low, high)
        count, rows = self._connection.execute(
            "SELECT COUNT(*), SUM(n) FROM chunks WHERE key >= ? AND key < ?", bounds
        ).fetchone()
        # After a join any two neighbours have more rows than fit into one chunk. So there are
        # as many new chunks between two joins as fit into the first term.
        if count <= CHUNK_ROWS + 2 * (rows or 0) // CHUNK_ROWS:
            return
        found = self._connection.execute(
            "SELECT * FROM chunks WHERE key >= ? AND key < ? ORDER BY key", bounds
        )
        for group in list(_joinable(Chunk(*row) for row in found)):
            if len(group) > 1:
                joined = self._joined(group)
                remove_rows(self._connection, group[0].key, group[-1].key + 1)
                self._connection.execute("INSERT INTO chunks VALUES (?, ?, ?, ?)", joined)

    def _joined(self, group: list[Chunk]) -> Chunk:
        key, rows = group[0].key, sum(chunk.n for chunk in group)
        if all(one.end + 1 == other.position for one, other in pairwise(group)):
            return Chunk(key, rows, group[0].position, group[-1].end - group[0].position)
        path = Path(self._file.name)
        with path.open("rb") as file:
            texts = [_text_of(file, chunk) for chunk in group]
        if not all(map(_is_sound, texts, group)):
            raise DamagedFile(path, "what is in it are no events")
        text = b",".join(texts)
        self._file.write(text + b",")
        joined = Chunk(key, rows, self._end, len(text))
        self._end += len(text) + 1
        return joined


def _joinable(chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    """Group neighbours as long as their rows fit into one chunk."""
    group: list[Chunk] = []
    for chunk in chunks:
        if group and sum(each.n for each in group) + chunk.n > CHUNK_ROWS:
            yield group
            group = []
        group.append(chunk)
    if group:
        yield group


def _is_sound(text: bytes, chunk: Chunk) -> bool:
    return text.startswith(BEGIN) and text[-1:] == END and count_rows(text) == chunk.n


def _text_of(file: IO[bytes], chunk: Chunk) -> bytes:
    file.seek(chunk.position)
    return file.read(chunk.length)


@contextmanager
def appending(connection: sqlite3.Connection, folder: Path, month: str) -> Iterator[TextWriter]:
    """Open a month's texts for a block; at its end they are on the disk, before the index is.

    Raises:
        DamagedFile: the file is shorter than the index says.
        OSError: the disk is full.
    """
    generation = generation_of(connection)
    (end,) = connection.execute("SELECT MAX(position + length) FROM chunks").fetchone()
    path = text_path(folder, month, generation)
    for other in folder.glob(f"{month}.*.events"):
        # Left by who was killed before or after the commit of a rewrite.
        if other != path:
            other.unlink()
    with cut_back_on_failure(path), path.open("ab", buffering=_BUFFER_BYTES) as file:
        if file.tell() < (end or 0):
            raise DamagedFile(path, "its end is missing")
        yield TextWriter(connection, file)
        file.flush()
        os.fsync(file.fileno())


def remove_rows(connection: sqlite3.Connection, low: int, high: int) -> None:
    """Take the rows with keys from ``low`` to below ``high`` out of the index.

    Loads begin a new chunk, and rows come and go by whole loads: no chunk is on both sides.
    """
    connection.execute("DELETE FROM chunks WHERE key >= ? AND key < ?", (low, high))


def rewrite(connection: sqlite3.Connection, folder: Path, month: str) -> None:
    """Copy the texts that are in use to a new file, when most of the old one is of no use.

    The old file goes with the next load. Who reads from it meanwhile reads on.
    """
    generation = generation_of(connection)
    path = text_path(folder, month, generation)
    (used,) = connection.execute("SELECT SUM(length + 1) FROM chunks").fetchone()
    waste = path.stat().st_size - (used or 0)
    if waste <= max(MOST_WASTE, used or 0):
        return
    chunks = [Chunk(*row) for row in connection.execute("SELECT * FROM chunks ORDER BY key")]
    with path.open("rb") as old, text_path(folder, month, generation + 1).open("wb") as new:
        for chunk in chunks:
            connection.execute(
                "UPDATE chunks SET position = ? WHERE key = ?", (new.tell(), chunk.key)
            )
            new.write(_text_of(old, chunk) + b",")
        new.flush()
        os.fsync(new.fileno())
    connection.execute("UPDATE text_file SET generation = generation + 1")


def move_texts_out(connection: sqlite3.Connection) -> None:
    """Turn the table of a month's first layout, a row per event, into a file and its index."""
    connection.execute(
        "CREATE TABLE chunks (\n    key INTEGER PRIMARY KEY,\n    n INTEGER NOT NULL,\n"
        "    position INTEGER NOT NULL,\n    length INTEGER NOT NULL\n) STRICT"
    )
    connection.execute("CREATE TABLE text_file (generation INTEGER NOT NULL) STRICT")
    connection.execute("INSERT INTO text_file VALUES (1)")
    (_, _, name) = connection.execute("PRAGMA database_list").fetchone()
    with closing(connection.execute("SELECT key, CAST(body AS BLOB) FROM events")) as rows:
        first = rows.fetchone()
        if first is not None:
            path = text_path(Path(name).parent, Path(name).stem, 1)
            with path.open("wb") as file:
                writer = TextWriter(connection, file)
                writer.append(first[0], [first[1]])
                # A chunk for each: which of them the ledger knows is not to be seen from here.
                for key, body in rows:
                    writer.append(key, [body])
                file.flush()
                os.fsync(file.fileno())
    connection.execute("DROP TABLE events")
