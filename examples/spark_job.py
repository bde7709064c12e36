"""Sync days of events to hourly Parquet with the executors of Spark, and print their figures.

    ADANALYTICS_BASE_URL=... ADANALYTICS_API_KEY=... ADANALYTICS_PARTNER=... \
        python examples/spark_job.py 2026-01-15 2026-01-16 [FOLDER]

The job needs Java 17 and `pip install 'adanalytics[spark]'`. On a cluster, leave out `master`, and
name a folder or an address such as s3://bucket/events that all machines share.
"""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from adanalytics_client import Client
from adanalytics_client.dataset import Dataset
from adanalytics_client.spark import sync


def main(start: str, end: str, folder: str = "events") -> None:
    # Otherwise workers run the python3 of PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    with Client.from_env() as client:
        events = sync(spark, Dataset(folder), client, start, end)
    days = events.where("not is_filtered").groupBy("event_date")
    figures = days.agg(
        sf.count_if(sf.col("event_type") == "impression").alias("impressions"),
        sf.sum("revenue").alias("revenue"),
    )
    figures.orderBy("event_date").show()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
