"""The service as a data source of Apache Spark: `spark.read.format("adanalytics")`.

Examples:
    >>> from adanalytics_client.spark import AdAnalyticsDataSource
    >>> spark.dataSource.register(AdAnalyticsDataSource)
    >>> spark.read.format("adanalytics").options(partner="acme", start="2026-01-15").load().count()
    300
"""

from typing import TYPE_CHECKING

from adanalytics_client._base.validation import import_extra

if TYPE_CHECKING:
    from adanalytics_client.spark.source import AdAnalyticsDataSource

__all__ = ["AdAnalyticsDataSource"]


def __getattr__(name: str) -> object:
    # Late, so that walking over the client's modules does not need PySpark.
    if name != "AdAnalyticsDataSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_extra("pyspark", extra="spark")
    from adanalytics_client.spark.source import AdAnalyticsDataSource

    return AdAnalyticsDataSource
