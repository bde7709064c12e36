"""JSON as the service sends it: exact numbers, and pages in which every byte is validated.

Other folders import the names below; the modules behind them belong to this folder.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from adanalytics_client._json.exact import MOST_LEVELS, Json, NotJson, parse, parse_text

if TYPE_CHECKING:
    from adanalytics_client._json.raw import (
        LEVELS,
        PART,
        PageSource,
        RawRows,
        raw_rows,
        read_page,
    )
    from adanalytics_client._json.rows import Found, find_rows, fold

__all__ = [
    "LEVELS",
    "MOST_LEVELS",
    "PART",
    "Found",
    "Json",
    "NotJson",
    "PageSource",
    "RawRows",
    "find_rows",
    "fold",
    "parse",
    "parse_text",
    "raw_rows",
    "read_page",
]


def __getattr__(name: str) -> object:
    # Late, because msgspec takes 15 ms to import and only events and summaries need it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "rows" if name in {"Found", "find_rows", "fold"} else "raw"
    return getattr(import_module(f"{__name__}.{home}"), name)
