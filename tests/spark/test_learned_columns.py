"""What `load()` learns of the columns reaches the tasks, and is learned once."""

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType
from tests.spark.in_process import FIRST, asked
from tests.spark.on_spark import load

from adanalytics_client.spark import AdAnalyticsDataSource
from adanalytics_server.local import LocalServer


class FewerColumns(AdAnalyticsDataSource):
    """Learns one column less, as from events that lack it."""

    @classmethod
    def name(cls) -> str:
        return "fewer"

    def schema(self) -> StructType:
        return StructType(super().schema().fields[:-1])


def test_a_load_learns_once(spark: SparkSession, server: LocalServer) -> None:
    events = load(spark)
    assert asked(server) == ["dates", "events"]
    assert events.count() == events.count() == 600
    assert asked(server).count("events") == 1


def test_a_column_that_was_not_learned_is_an_error(
    spark: SparkSession, server: LocalServer
) -> None:
    spark.dataSource.register(FewerColumns)
    events = spark.read.format("fewer").option("start", str(FIRST))
    with pytest.raises(PySparkException, match="has values of key_values, which"):
        events.load().count()
    assert events.schema("event_id string").load().count() == 300
