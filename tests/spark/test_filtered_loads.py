"""A filter of one query changes no other query of the same `load()`.

It would with `pushFilters`: PySpark 4.3 keeps the partitions of the last filtered query for all
queries of a `load()`.
"""

from pyspark.sql import SparkSession
from tests.spark.on_spark import load

from adanalytics_server.local import LocalServer


def test_a_filter_leaves_the_other_queries_of_its_load_alone(
    spark: SparkSession, server: LocalServer
) -> None:
    events = load(spark)
    everything = events.count()
    one_day = events.where("event_date = '2026-01-15'").count()
    assert 0 < one_day < everything
    assert events.count() == everything
