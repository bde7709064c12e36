"""The words that arguments take, and options of the command line, whose help imports no more."""

from typing import Literal

Check = Literal["auto", "always", "none"]
"""When a pull is compared with the service's count: `auto` compares files, and pulls in doubt."""

Split = Literal["hourly", "daily", "none", "auto"]
"""How a range is divided: one query per hour, per day or for all days, or the fewest requests."""

Via = Literal["auto", "pages", "export"]
"""How hours are pulled; `auto` chooses for each run of days by requests, then by bytes."""

PartFormat = Literal["parquet", "jsonl"]
"""The format of a dataset's files; all files have the same format."""

TableFormat = Literal["delta", "iceberg"]
"""The format of a table that lists the files of a dataset."""

Partition = Literal["day", "hour"]
"""What the folders of a dataset divide: days, in files with a column `hour`, or also hours."""
