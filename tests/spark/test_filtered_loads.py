"""A filter of one query changes no other query of the same `load()`.

It would with `pushFilters`: PySpark 4.3 keeps the partitions of the last filtered query for all
queries of a `load()`.
"""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from adanalytics_client.spark import AdAnalyticsDataSource
from adanalytics_server.local import LocalServer


def test_a_filter_leaves_the_other_queries_of_its_load_alone(
    spark: SparkSession, reference: LocalServer
) -> None:
    key = reference.api_key

    class WithKey(AdAnalyticsDataSource):
        def environment(self) -> Mapping[str, str]:
            return {"ADANALYTICS_API_KEY": key}

    spark.dataSource.register(WithKey)
    options = {"baseUrl": reference.url, "partner": reference.partner, "start": "2026-01"}
    events = spark.read.format("adanalytics").options(**options).load()
    everything = events.count()
    one_day = events.where("event_date = '2026-01-15'").count()
    assert 0 < one_day < everything
    assert events.count() == everything
