"""Write days of events to Parquet with Spark, a partition for each hour, and print their figures.

    ADANALYTICS_BASE_URL=... ADANALYTICS_API_KEY=... ADANALYTICS_PARTNER=... \
        python examples/spark_job.py 2026-01-15 2026-01-16 [FOLDER]

It needs Java 17 and `pip install 'adanalytics[spark]'`. On a cluster, leave out `master`.
"""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from adanalytics_client.spark import AdAnalyticsDataSource


def main(start: str, end: str, folder: str = "events") -> None:
    # Otherwise workers run the python3 of PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.session.timeZone", "UTC")
        # A write replaces the hours that it brings, and leaves the others.
        .config("spark.sql.sources.partitionOverwriteMode", "dynamic")
        .getOrCreate()
    )
    spark.dataSource.register(AdAnalyticsDataSource)
    events = spark.read.format("adanalytics").options(start=start, end=end).load()
    events.write.partitionBy("event_date", "event_hour").mode("overwrite").parquet(folder)

    # From the files, because another action on `events` would download the exports again.
    days = spark.read.parquet(folder).where("not is_filtered").groupBy("event_date")
    figures = days.agg(
        sf.count_if(sf.col("event_type") == "impression").alias("impressions"),
        sf.sum("revenue").alias("revenue"),
    )
    figures.orderBy("event_date").show()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
