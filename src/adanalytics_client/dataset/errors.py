"""The errors of datasets; import them from `adanalytics_client.dataset`.

```
AdAnalyticsError
└── DatasetError            a dataset cannot be read or written
    ├── DatasetDamaged      a file of it is missing or not as written
    ├── DatasetInUse        another process works on it
    ├── QueryError          its SQL is wrong, or does more than read
    ├── TableConflict       another writer committed to its table meanwhile
    └── UnsuitablePlace     a place that cannot hold a dataset
```
"""

from dataclasses import dataclass

from adanalytics_client.errors import AdAnalyticsError


class DatasetError(AdAnalyticsError):
    """A dataset cannot be read or written, or belongs to another partner or service."""


class DatasetDamaged(DatasetError):
    """A file of a dataset is missing, or has changed since it was written."""


class DatasetInUse(DatasetError):
    """Another process is working on the dataset.

    Examples:
        >>> with suppress(DatasetInUse):  # the other one does the work
        ...     report = Dataset("events").sync(client)
    """


@dataclass(eq=False, repr=False, kw_only=True)
class QueryError(DatasetError):
    """The SQL of a query is wrong, or does more than read the dataset.

    Attributes:
        excerpt: the line of the SQL that DuckDB names, and below it a caret at the place; "" if it
            names none.

    Examples:
        >>> QueryError("syntax error", excerpt="LINE 1: SELEKT 1\\n        ^").excerpt
        'LINE 1: SELEKT 1\\n        ^'
    """

    excerpt: str = ""


class TableConflict(DatasetError):
    """Another writer committed to the Delta or Iceberg table of a dataset at the same time.

    Both the table and the files of the dataset are complete; the next sync brings them together.

    Examples:
        >>> try:
        ...     report = Dataset("events").sync(client)
        ... except TableConflict:
        ...     report = Dataset("events").sync(client)
    """


class UnsuitablePlace(DatasetError):
    """The place cannot hold a dataset.

    It is a file, a folder with other files in it, or a store without conditional writes.
    """
