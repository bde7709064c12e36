"""Which columns DuckDB can write as csv itself, with the values of our own csv, and how.

That takes a twentieth of the time. Parquet is written from Arrow, which takes less than DuckDB.
"""

from collections.abc import Callable, Mapping, Sequence

_SIGNED = ("tinyint", "smallint", "integer", "bigint")
_PLAIN = ("boolean", *_SIGNED, *(f"u{name}" for name in _SIGNED), "decimal", "varchar")
_DAYS = "BETWEEN DATE '1000-01-01' AND DATE '9999-12-31'"


def _day(value: str) -> str:
    """Return the text of a day: that of ECMAScript for a year that ISO 8601 does not have."""
    year = f"year({value})"
    return (
        f"CASE WHEN {value} {_DAYS} OR NOT isfinite({value}) THEN CAST({value} AS VARCHAR) "
        f"ELSE printf(CASE WHEN {year} BETWEEN 1 AND 9999 THEN '%04d' ELSE '%+07d' END, {year}) "
        f"|| strftime({value}, '-%m-%d') END"
    )


def _moment(value: str, zone: str = "") -> str:
    """Return the text of a time, with milliseconds, or microseconds where it has some."""
    usual, odd = (
        f"CASE WHEN microsecond({value}) % 1000 = 0 "
        f"THEN strftime({value}, '{day}T%H:%M:%S.%g{zone}') "
        f"ELSE strftime({value}, '{day}T%H:%M:%S.%f{zone}') END"
        for day in ("%Y-%m-%d", "")
    )
    day = f"CAST({value} AS DATE)"
    return (
        f"CASE WHEN NOT isfinite({value}) THEN CAST({value} AS VARCHAR) "
        f"WHEN {day} {_DAYS} THEN {usual} ELSE ({_day(day)}) || {odd} END"
    )


def _pairs(value: str) -> str:
    """Return compact JSON with the names in order."""
    return f"CAST(to_json(map_from_entries(list_sort(map_entries({value})))) AS VARCHAR)"


_TEXTS: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys(_PLAIN, str),
    **dict.fromkeys(
        ("float", "double"), lambda value: f"CASE WHEN isfinite({value}) THEN {value}::DOUBLE END"
    ),
    "date": _day,
    "timestamp": _moment,
    "timestamp with time zone": lambda value: _moment(f"({value} AT TIME ZONE 'UTC')", "Z"),
    "map": _pairs,
}


def csv_columns(columns: Sequence[tuple[str, str, str]]) -> list[str] | None:
    """Return an expression for each column; None where DuckDB would write other values.

    Args:
        columns: the quoted name of each column, the id of its type, and the type.

    Examples:
        >>> csv_columns([('"n"', "bigint", "BIGINT"), ('"x"', "double", "DOUBLE")])
        ['"n" AS "n"', 'CASE WHEN isfinite("x") THEN "x"::DOUBLE END AS "x"']
        >>> csv_columns([('"n"', "bigint", "BIGINT"), ('"span"', "interval", "INTERVAL")]) is None
        True
    """
    # Of a single column, DuckDB writes a line without anything for a null, which no reader sees.
    if len(columns) == 1:
        return None
    for _, kind, type_ in columns:
        if kind not in _TEXTS or (kind == "map" and type_ != "MAP(VARCHAR, VARCHAR)"):
            return None
    return [f"{_TEXTS[kind](name)} AS {name}" for name, kind, _ in columns]
