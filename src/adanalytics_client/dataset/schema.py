"""The columns of a dataset: learned from its events, widened, and kept beside its records.

Files keep the types that they were written with. Each set of types is kept once, and the record of
an hour names the number of its file's set; readers get the types that hold the values of all files.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Self

import msgspec

from adanalytics_client._json.fields import FieldNames
from adanalytics_client._json.types import ColumnType, Types, join_columns

from .errors import DatasetDamaged
from .records.layout import SCHEMA
from .records.manifest import Damaged, seal, unseal
from .storage.local import Store


def tell_hours(types: Types, names: FieldNames) -> bool:
    """Return whether events of these columns tell the hour that they belong to."""

    def base_of(part: str) -> str:
        name = names.sent(part, types)
        return types[name].base if name else ""

    is_timed = base_of("event_time") in {"time", "epoch"}
    return is_timed or (base_of("event_date"), base_of("event_hour")) == ("date", "number")


def free_name(name: str, fields: Iterable[str]) -> str:
    """Return a name that no field has, whatever its case: ours gets underscores in front.

    Examples:
        >>> free_name("hour", ["revenue"]), free_name("hour", ["Hour"])
        ('hour', '_hour')
    """
    folded = {field.casefold() for field in fields}
    while name in folded:
        name = f"_{name}"
    return name


class Schema(msgspec.Struct, frozen=True):
    """The types of the files of a dataset.

    Attributes:
        sets: each set of types that files were written with; number 0 is that of no event.
    """

    sets: tuple[dict[str, ColumnType], ...] = ({},)

    @classmethod
    def read(cls, store: Store) -> Self:
        """Read the schema of a dataset.

        Raises:
            DatasetDamaged: when it cannot be read.
        """
        content = store.read(SCHEMA)
        if content is None:
            return cls()
        try:
            return unseal(content, cls)
        except Damaged as error:
            raise DatasetDamaged(
                f"{store.place}/{SCHEMA} is damaged: {error}.",
                remedy="Delete the dataset, and make it anew with a sync.",
            ) from None

    def number(self, types: Types) -> int | None:
        """Return the number of a set of types, or None if it is new."""
        # The order of the columns counts, too.
        rounded = [*_rounded(types).items()]
        return next(
            (at for at, columns in enumerate(self.sets) if [*columns.items()] == rounded), None
        )

    def extended(self, types: Types) -> "Schema":
        """Return a schema with one more set of types."""
        return Schema((*self.sets, _rounded(types)))

    @property
    def union(self) -> Types:
        """The columns of all files, each with a type that holds the values of all files."""
        return reduce(join_columns, self.sets, {})

    def write(self, store: Store) -> None:
        """Make it the schema of a dataset, before a record names one of its sets."""
        store.write(SCHEMA, seal(self))


def _rounded(types: Types) -> dict[str, ColumnType]:
    """Return types with room, so that not each larger number makes another set."""
    return {name: type_.rounded() for name, type_ in types.items()}
