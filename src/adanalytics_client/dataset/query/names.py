"""Names and texts in SQL."""

from collections.abc import Iterable, Iterator
from itertools import count

from adanalytics_client.dataset.schema import free_name

# The columns of ours, behind those of the events, and their types.
OUR_TYPES = {"date": "DATE", "hour": "BIGINT", "partner": "VARCHAR", "currency": "VARCHAR"}


def literal(text: str) -> str:
    """Return a text in the quotes of SQL."""
    quoted = text.replace("'", "''")
    return f"'{quoted}'"


def literals(values: Iterable[str]) -> str:
    return f"[{', '.join(map(literal, values))}]"


def quote(name: str) -> str:
    quoted = name.replace('"', '""')
    return f'"{quoted}"'


def distinct_names(fields: Iterable[str], ours: Iterable[str] = OUR_TYPES) -> list[str]:
    """Return a name for each field, and for the columns of ours, that no other has in any case.

    Of fields whose names differ in capital letters only, the later ones are numbered; an empty name
    is an underscore; a column of ours gets one in front where a field has its name.
    """
    names = {}
    for field in fields:
        # SQL has no empty name, and at a NUL a name would end.
        plain = field.replace("\0", "_") or "_"
        name = next(n for n in _numbered(plain) if n.lower() not in names)
        names[name.lower()] = name
    for own in ours:
        name = free_name(own, names)
        names[name] = name
    return [*names.values()]


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(1))
