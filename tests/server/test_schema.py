"""The layout of the data folder."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adanalytics_server.admin import list_partners
from adanalytics_server.storage.schema import OtherSchema, prepare


@pytest.mark.parametrize("version", [1, 99])
def test_a_folder_of_another_layout_is_left_alone(tmp_path: Path, version: int) -> None:
    list_partners(tmp_path)
    with closing(sqlite3.connect(tmp_path / "state.db")) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = (tmp_path / "state.db").read_bytes()
    with pytest.raises(OtherSchema, match=rf"layout {version}, .* load the events into a new"):
        list_partners(tmp_path)
    assert (tmp_path / "state.db").read_bytes() == before


def test_tables_are_created_together_or_not_at_all() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            prepare(connection, "CREATE TABLE a (x);\nCREATE TABLE a (x);\n")
        connection.rollback()
        assert connection.execute("SELECT * FROM sqlite_master").fetchall() == []
