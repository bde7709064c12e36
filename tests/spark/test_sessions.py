"""The sessions of the tests run a Python data source, each with the processes that it promises."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition


class Pids(DataSource):
    """Two partitions, each a row with the process above the worker that read it."""

    def schema(self) -> str:
        return "planner long, reader long"

    def reader(self, schema: object) -> DataSourceReader:  # noqa: ARG002  # Spark gives it
        return PidsReader()


class PidsReader(DataSourceReader):
    def pushFilters(self, filters: list[Any]) -> list[Any]:  # noqa: N802  # Spark's name
        return filters

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(os.getppid())] * 2

    def read(self, partition: InputPartition) -> Iterator[tuple[int, int]]:
        yield partition.value, os.getppid()


@pytest.mark.parametrize(("master", "readers"), [("spark", 1), ("cluster", 2)])
def test_planning_and_reading_happen_outside_of_this_process(
    master: str, readers: int, request: pytest.FixtureRequest
) -> None:
    session: SparkSession = request.getfixturevalue(master)
    session.dataSource.register(Pids)
    rows = session.read.format("Pids").load().collect()
    assert len(rows) == 2
    assert len({row.reader for row in rows}) == readers
    assert os.getpid() not in {row.planner for row in rows}
