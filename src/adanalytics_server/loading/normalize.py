"""Rows of one file, after its mapping, as records ready to be stored."""

from collections.abc import Collection
from collections.abc import Mapping as Row
from typing import Any

from adanalytics_server.loading.build_record import build_record
from adanalytics_server.loading.errors import FieldError
from adanalytics_server.loading.event_fields import NAME_FIELDS, REQUIRED_FIELDS
from adanalytics_server.loading.mapping import Mapping
from adanalytics_server.storage.events import Record
from adanalytics_server.storage.rollups import CAMPAIGN, DEMAND_TAG

_DIMENSIONS = {"campaign_id": CAMPAIGN, "demand_tag_id": DEMAND_TAG}


class Normalizer:
    """Makes the records of one file, for one partner.

    Attributes:
        names: ``(dimension, id) -> name`` as the rows gave them, the last one of an id; one
            entry per campaign and demand tag, as many as the rollups of the load have.
        times_without_zone: timestamps so far that named no zone and were counted as UTC.
    """

    def __init__(self, *, partner_id: str, currency: str, mapping: Mapping) -> None:
        self.names: dict[tuple[int, int], str] = {}
        self.times_without_zone = 0
        self._partner_id = partner_id
        self._currency = currency
        self._mapping = mapping
        self._by_column = mapping.fields_by_column()
        self._constants: dict[str, Any] = {
            field: value for field, value in mapping.constants.items() if value is not None
        }

    def check_columns(self, columns: Collection[str]) -> None:
        """Check that a file with these columns, all it has, can give what is needed.

        Raises:
            FieldError: a column that was asked for, or one of a required field, is not there.
        """
        for field, column in self._mapping.columns.items():
            if column not in columns:
                raise FieldError(field, f"the file has no column {column!r} to read it from")
        for column, _ in self._mapping.where:
            if column not in columns:
                raise FieldError("--where", f"the file has no column {column!r}")
        for field in REQUIRED_FIELDS:
            if field not in (*columns, *self._mapping.columns, *self._mapping.constants):
                raise FieldError(field, f"the file has no such column; {_ways_to_give(field)}")

    def ignored(self, columns: Collection[str]) -> tuple[str, ...]:
        """Return those of the columns that play no part, in their order."""
        used = {*self._by_column, *(column for column, _ in self._mapping.where)}
        return tuple(column for column in columns if column not in used)

    def record(self, row: Row[str, object]) -> Record:
        """Turn a row into a record; its id is empty when the row gives none.

        Raises:
            FieldError: a value breaks its field's rule, is missing, or contradicts another.
        """
        given = self._given(row)
        for field in REQUIRED_FIELDS:
            if field not in given:
                raise FieldError(field, f"the row has no value; {_ways_to_give(field)}")
        self._take_names(given)
        for field in ("event_time", "received_at"):
            if field in given and not given[field].zoned:
                self.times_without_zone += 1
        return build_record(given, partner_id=self._partner_id, currency=self._currency)

    def _given(self, row: Row[str, object]) -> dict[str, Any]:
        """Parse the values that are not null."""
        given = self._constants.copy()
        for column, value in row.items():
            if value is None or value == "":
                continue
            for field in self._by_column.get(column, ()):
                try:
                    # Cells of a CSV file are all text: no call more than needed for each.
                    given[field.name] = (
                        field.parse(value) if type(value) is str else field.read(value)
                    )
                except ValueError as error:
                    where = "" if column == field.name else f" (column {column!r})"
                    raise FieldError(field.name, f"{error}{where}") from error
        return given

    def _take_names(self, given: dict[str, Any]) -> None:
        """Move the names, which are no fields of the event, from a row to :attr:`names`."""
        for name_field, id_field in NAME_FIELDS.items():
            name = given.pop(name_field, None)
            if name is None:
                continue
            if id_field not in given:
                raise FieldError(name_field, f"{name!r} names nothing, the row has no {id_field}")
            self.names[_DIMENSIONS[id_field], given[id_field]] = name


def _ways_to_give(field: str) -> str:
    return f"use --map {field}=COLUMN or --set {field}=VALUE"
