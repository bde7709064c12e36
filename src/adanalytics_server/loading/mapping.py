"""Map the columns of any file to event fields: renamed columns, constants, and conditions."""

from collections.abc import Iterable
from collections.abc import Mapping as Row
from typing import NamedTuple, Self

from .values import FIELDS, Rule, text_of


class MappingError(ValueError):
    """An invalid mapping, constant or condition; the text says which and why."""


class Mapping(NamedTuple):
    """Which column, constant or condition belongs to which field.

    A field that is neither renamed nor constant is read from the column of its own name.

    Attributes:
        columns: field -> the column to read it from.
        constants: field -> its parsed value for every row; ``None`` is null.
        where: pairs of column and raw text; a row is loaded if all of them match.
    """

    columns: dict[str, str]
    constants: dict[str, object]
    where: tuple[tuple[str, str], ...]

    @classmethod
    def parse(
        cls,
        *,
        columns: Iterable[str] = (),
        constants: Iterable[str] = (),
        where: Iterable[str] = (),
    ) -> Self:
        """Parse the texts of ``--map F=COLUMN``, ``--set F=VALUE`` and ``--where COLUMN=VALUE``.

        A constant is written as in a CSV cell.

        Raises:
            MappingError: no ``=``, an unknown field, one given twice, or a bad value.
        """
        column_by_field: dict[str, str] = {}
        for field, column in (_halves("--map", text) for text in columns):
            _check_field("--map", field, column_by_field)
            column_by_field[field] = column
        constant_by_field: dict[str, object] = {}
        for field, value in (_halves("--set", text) for text in constants):
            _check_field("--set", field, {**column_by_field, **constant_by_field})
            constant_by_field[field] = _constant(field, value)
        return cls(
            column_by_field, constant_by_field, tuple(_halves("--where", text) for text in where)
        )

    def takes(self, row: Row[str, object]) -> bool:
        """Return whether a row matches all conditions; a missing column counts as empty."""
        return all(text_of(row.get(column)) == value for column, value in self.where)

    def fields_by_column(self) -> dict[str, list[tuple[str, Rule]]]:
        fields: dict[str, list[tuple[str, Rule]]] = {}
        for field, rule in FIELDS.items():
            if field not in self.constants:
                fields.setdefault(self.columns.get(field, field), []).append((field, rule))
        return fields


def _halves(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise MappingError(f"{option} {text!r} is not in the form NAME=VALUE")
    return name, value


def _check_field(option: str, field: str, fields: Iterable[str]) -> None:
    if field not in FIELDS:
        raise MappingError(f"{option}: unknown field {field!r}; known fields: {', '.join(FIELDS)}")
    # Two sources of one field: the last one would win in silence.
    if field in fields:
        raise MappingError(f"{option}: the field {field!r} is already given")


def _constant(field: str, text: str) -> object:
    if not text:
        return None
    try:
        text.encode()
        return FIELDS[field].parse(text)
    except ValueError as error:
        raise MappingError(f"--set {field}: {error}") from error
