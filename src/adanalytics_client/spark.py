"""A sync whose tasks run on the executors of Spark.

The module imports nothing of PySpark: the session, which the caller makes, has all that it uses.
"""

from typing import TYPE_CHECKING

from ._base.dates import Day
from .client import Client
from .dataset import Dataset, DatasetError, Task
from .dataset.query.files import CommittedFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def sync(
    spark: "SparkSession",
    dataset: Dataset,
    client: Client,
    start: Day | None = None,
    end: Day | None = None,
) -> "DataFrame":
    """Bring a dataset up to date with the help of the executors, and return its events.

    The driver requests an export for each day with missing hours. Each file becomes one or more
    tasks that need no credential. The driver compares the days with the summary and commits them.
    All machines must reach the dataset at the same location. `dataset.report` is the `SyncReport`.

    Args:
        spark: a classic session, because Spark Connect does not support RDDs.
        dataset: a dataset of Parquet files.
        client: as for `Dataset.sync`; the client stays on the driver.
        start: as for `Dataset.sync`.
        end: as for `Dataset.sync`.

    Returns:
        The events, which Spark reads from the dataset's files, plus the columns `date` and `hour`.

    Raises:
        DatasetError: if hours are missing after the commit; the error shows a command to pull them.
        ConfigurationError, AdAnalyticsError: as for `Dataset.tasks` and `Dataset.commit`.

    Examples:
        >>> with Client.from_env() as client:
        ...     events = sync(spark, Dataset("events"), client, "2026-01-15", "2026-01-16")
        >>> events.where("hour < 12").count() > 0
        True
    """
    tasks = dataset.tasks(client, start, end)
    # One partition per task. No plan and no page of Spark shows what an RDD holds.
    parts = spark.sparkContext.parallelize(tasks, max(1, len(tasks))).map(Task.run).collect()
    report = dataset.commit(client, parts)
    if report.failed:
        raise DatasetError(report.failed[0].message)
    folder, holdings = f"{dataset.place}/data", dataset.holdings()
    # Beside a table, the folder keeps replaced files.
    paths = CommittedFiles.read(dataset.place).paths() if holdings and holdings.table else [folder]
    return spark.read.option("basePath", folder).parquet(*paths)
