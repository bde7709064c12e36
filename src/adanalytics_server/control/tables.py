"""Take the small tables of ``state.db`` into memory and bring them back in one transaction."""

from dataclasses import dataclass

from adanalytics_server.storage.state import State

_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
)


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one table."""

    name: str
    rows: tuple[tuple[object, ...], ...]


class StateTables:
    """All tables there are, whatever a later layout adds: partners, users, keys, exports."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def capture(self) -> list[Table]:
        """Read all rows of all tables."""
        tables = []
        for (name,) in await self._state.rows(_TABLES):
            rows = await self._state.rows(f'SELECT * FROM "{name}"')  # noqa: S608  # from the schema
            tables.append(Table(name, tuple(tuple(row) for row in rows)))
        return tables

    async def restore(self, captured: list[Table]) -> None:
        """Put the captured rows in the place of those that are there."""
        async with self._state.writing() as connection:
            # Until the commit, rows may stand without those that they refer to.
            await connection.execute("PRAGMA defer_foreign_keys = ON")
            for table in captured:
                await connection.execute(f'DELETE FROM "{table.name}"')  # noqa: S608  # from the schema
            for table in captured:
                if table.rows:
                    marks = ", ".join("?" * len(table.rows[0]))
                    await connection.executemany(
                        f'INSERT INTO "{table.name}" VALUES ({marks})',  # noqa: S608  # from the schema
                        table.rows,
                    )
