"""Apache Spark: a sync that runs on executors, and the service as a data source.

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
    from adanalytics_client.spark.tasks import sync

__all__ = ["AdAnalyticsDataSource", "sync"]


def __getattr__(name: str) -> object:
    # Late, so that walking over the client's modules does not need PySpark.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_extra("pyspark", extra="spark")
    from adanalytics_client.spark import source, tasks

    return getattr(source if name == "AdAnalyticsDataSource" else tasks, name)
