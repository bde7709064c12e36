"""Create, update, verify and query a dataset of files of events.

Examples:
    >>> from adanalytics_client.dataset import Dataset
    >>> report = Dataset("events").sync(client, "2026-01-15", "2026-01-16")
    >>> report.events, report.left
    (600, 0)
"""

from adanalytics_client._base.choices import PartFormat, Partition, TableFormat, Via

from .changes import DayChange
from .dataset import Dataset, Holdings
from .errors import (
    DatasetDamaged,
    DatasetError,
    DatasetInUse,
    QueryError,
    TableConflict,
    UnsuitablePlace,
)
from .hours.compare import ComparedFigure, UncomparedFigure
from .records.layout import Hour
from .report import FailedQuery, Problem, Repair, SyncPlan, SyncReport, VerifyReport
from .runs import Run
from .tasks.task import Part, Task

__all__ = [
    "ComparedFigure",
    "Dataset",
    "DatasetDamaged",
    "DatasetError",
    "DatasetInUse",
    "DayChange",
    "FailedQuery",
    "Holdings",
    "Hour",
    "Part",
    "PartFormat",
    "Partition",
    "Problem",
    "QueryError",
    "Repair",
    "Run",
    "SyncPlan",
    "SyncReport",
    "TableConflict",
    "TableFormat",
    "Task",
    "UncomparedFigure",
    "UnsuitablePlace",
    "VerifyReport",
    "Via",
]

for _name in set(__all__) - {"PartFormat", "Partition", "Repair", "TableFormat", "Via"}:
    globals()[_name].__module__ = __name__
