"""What the filter of one query does to other queries of the same `load()`."""

from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession

from adanalytics_client.spark import AdAnalyticsDataSource
from adanalytics_server.local import LocalServer


@pytest.mark.xfail(
    reason="PythonScanBuilder.pushFilters of Spark 4.3 replaces the partitions of the whole load"
)
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
