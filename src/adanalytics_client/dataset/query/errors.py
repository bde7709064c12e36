"""What errors of DuckDB mean."""

import re
from collections.abc import Collection

from adanalytics_client._base.remedies import remedy
from adanalytics_client._json.fields import TABLE_OF
from adanalytics_client.dataset.errors import DatasetError, QueryError

from .files import CommittedFiles

_TABLES = ", ".join(["events", "traffic", *TABLE_OF.values()])
ONE_SELECT = f"Give one SELECT, which reads {_TABLES} and nothing else."
_COLUMNS = f"The tables are {_TABLES}; DESCRIBE events lists its columns."
_MOST_LISTED = 3
_EXCERPT = re.compile(
    r"^(?P<heading>LINE (?P<number>\d+): )(?P<line>.*)\n(?P<caret> *\^[~^]*)\s*$", re.MULTILINE
)

# The errors of DuckDB that a damaged file cannot cause.
_OF_THE_SQL = frozenset(("Parser", "Binder", "Catalog", "Out of Range"))
# Those that name no file, so that all files are read to find a damaged one.
_OF_ANY_FILE = frozenset(("", "Invalid", "IO", "INTERNAL", "Serialization"))


def explain(error: str, datasets: Collection[CommittedFiles], sql: str) -> DatasetError:
    """Return what an error of DuckDB means: a damaged file, too little memory, or wrong SQL."""
    lines = error.partition("\n\n")[0].splitlines()
    # DuckDB indents lists, such as that of the functions with a similar name.
    candidates = [line.strip() for line in lines[2:] if line.startswith("\t")][:_MOST_LISTED]
    text = " ".join([line for line in lines[:2] if not line.startswith("\t")])
    text += f" {', '.join(candidates)}" if text.endswith(":") else ""
    kind, message, reason = text.partition(" Error: ")
    kind = kind if message else ""
    if kind not in _OF_THE_SQL:
        for files in datasets:
            if damage := files.find_damage(error, thorough=kind in _OF_ANY_FILE):
                return damage
    if kind == "Out of Memory":
        return DatasetError(f"The query ran out of memory: {reason}.", remedy=remedy("memory"))
    if kind == "Permission":
        return QueryError(f"Refused: {reason.partition(' - ')[0]}.", remedy=ONE_SELECT)
    text += "" if text.endswith((".", "!", "?")) else "."
    advice = _COLUMNS if kind in {"Binder", "Catalog"} else ""
    return QueryError(text, remedy=advice, excerpt=_excerpt(error, sql))


def unwritable(error: str) -> DatasetError:
    reason = error.partition(" Error: ")[2].partition("\n")[0].rpartition(": ")[2] or error
    # DuckDB puts the error of another thread into JSON.
    reason = reason.partition('","')[0]
    return DatasetError(
        f"The answer cannot be written: {reason}.", remedy="Make room, or name another file."
    )


def _excerpt(error: str, sql: str) -> str:
    """Return the line of the SQL that an error of DuckDB shows, with the caret below it.

    The line may be one of a statement that DuckDB made of the SQL, so it is looked up.
    """
    excerpt = _EXCERPT.search(error)
    if excerpt is None:
        return ""
    heading, line, caret = excerpt["heading"], excerpt["line"], excerpt["caret"]
    begin = line.removeprefix("...").removesuffix("...")
    numbers = [n for n, text in enumerate(sql.splitlines(), start=1) if begin and begin in text]
    if not numbers:
        return ""
    own_heading = heading if int(excerpt["number"]) in numbers else f"LINE {numbers[0]}: "
    # DuckDB gives a tab no width; a terminal gives it up to eight.
    column, rest = len(caret) - len(caret.lstrip()) - len(heading), caret.strip()
    before = next((n for n in range(len(line)) if n - line[:n].count("\t") == column), len(line))
    text = line.replace("\t", " ")
    return f"{own_heading}{text}\n{' ' * (len(own_heading) + before)}{rest}"
