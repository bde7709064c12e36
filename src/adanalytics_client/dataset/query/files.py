"""The files that the manifest of a dataset names, as DuckDB reads them."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Self

from adanalytics_client._base.validation import import_extra
from adanalytics_client._json.fields import EVENT_KINDS
from adanalytics_client._json.types import DEFAULTS, NULL, Base, ColumnType, Types
from adanalytics_client.dataset.coverage import Coverage
from adanalytics_client.dataset.errors import DatasetDamaged, DatasetError
from adanalytics_client.dataset.hours.files import checksum
from adanalytics_client.dataset.records.layout import DATA, MANIFEST
from adanalytics_client.dataset.records.manifest import DataFile, DayRecord, Identity, Manifest
from adanalytics_client.dataset.records.names import Names, read_names
from adanalytics_client.dataset.schema import Schema
from adanalytics_client.dataset.storage.local import Store, open_store
from adanalytics_client.dataset.storage.objects import ObjectStore
from adanalytics_client.errors import ConfigurationError

from .expressions import cast, is_fraction, member, parse_line, reading_type, sql_type
from .names import OUR_TYPES, distinct_names, literal, literals, quote

if TYPE_CHECKING:
    import duckdb

_REPAIR = "If a sync is running, query again. Otherwise adanalytics verify says how to repair it."
_RETENTION = " With a longer retention, a sync keeps the files of queries that take so long."
# DuckDB's own partitions would take a column from any folder above the dataset that is named like
# `country=DE`. A filter on a part of the file name leaves out files just as well. The column of the
# file has a name that no field has, since DuckDB refuses a second one.
_FILES_ONLY = "filename = 'adanalytics: file', hive_partitioning = false"
_FILE = '"adanalytics: file"'
_PARTITIONS = {
    "date": r"regexp_extract(filename, 'date=([^/=]+)/(?:hour=[^/]+/)?[^/]+$', 1)",
    "hour": r"regexp_extract(filename, 'hour=([^/=]+)/[^/]+$', 1)",
}
# The last column of files that have one for the hour.
_HOUR = "of_hour"
# The types of columns that become BOOLEAN.
FLAGS: Collection[Base] = ("bit", "flag")
_SCHEMES = count(1)
# Tried with 1.2.2, 1.5.0, 2.0.0 and 2.0.1; pip does not hold a later install to our bound.
_EXACT_SINCE = (2, 0, 1)


@dataclass(frozen=True, slots=True)
class CommittedFiles:
    """The files that the manifest of a dataset names, and the names of campaigns and tags.

    Attributes:
        scheme: that of the addresses by which DuckDB reads object storage. No others have it, so
            that a connection may read many datasets, and S3 in the way of its user, too.
        failures: errors of the storage while DuckDB read, which it reports as others.
    """

    place: str
    store: Store
    identity: Identity
    schema: Schema
    records: Sequence[DayRecord]
    files: Sequence[DataFile]
    group_names: Names
    scheme: str
    failures: list[DatasetError]

    @classmethod
    def read(cls, place: str) -> Self:
        """Read the manifest of a dataset.

        Raises:
            DatasetError: when there is no dataset.
            DatasetDamaged: when a record cannot be read.
        """
        store = open_store(place)
        identity, manifest = Identity.require(store), Manifest(store)
        records = manifest.records(manifest.days())
        files = [file for record in records for file in record.data_files(identity)]
        # An answer about fewer days than asked for would look complete.
        for day, damage in manifest.damaged.items():
            raise DatasetDamaged(
                f"{place}/{MANIFEST}/{day}.json is damaged: {damage}.", remedy=_REPAIR
            )
        schema, names = Schema.read(store), read_names(store)
        scheme = f"adanalytics{next(_SCHEMES)}"
        return cls(place, store, identity, schema, records, files, names, scheme, [])

    def address(self, name: str) -> str:
        """Return the address by which DuckDB reads a file; see `mount`."""
        address = self.store.address(name)
        return f"{self.scheme}://{address}" if isinstance(self.store, ObjectStore) else address

    def paths(self) -> list[str]:
        return [self.address(file.name) for file in self.files]

    @property
    def columns(self) -> dict[str, ColumnType]:
        """The columns of all events, or those that are documented if there are none."""
        kind_of, union = self.identity.names.kind, self.schema.union
        return {
            name: DEFAULTS[kind_of(name)] if type_ == NULL else type_
            for name, type_ in (union or dict.fromkeys(EVENT_KINDS, NULL)).items()
        }

    @property
    def flag(self) -> str | None:
        """The column that says which events are filtered; None if there is none."""
        columns = self.columns
        flag = self.identity.names.sent("is_filtered", columns)
        return flag if flag and columns[flag].base in FLAGS else None

    @property
    def coverage(self) -> Coverage:
        """What the dataset covers, by its manifest."""
        identity = self.identity
        return Coverage(self.place, identity.partner, self.records, self.flag, identity.zone)

    def select(self, columns: Types, ours: Collection[str]) -> str:
        """Return a SELECT of all events: these columns, then `ours`.

        Files of different types are read each with its own, and cast to those of `columns`.
        """
        names = distinct_names(columns, ours)
        # DuckDB joins files of one scan only if their types agree, so each set of types is a scan
        # of its own, and its columns are cast to those of all files.
        by_types = dict[tuple[int, bool], list[str]]()
        for file in self.files:
            alike = by_types.setdefault((file.types, file.has_hour), [])
            alike.append(self.address(file.name))
        # Without files there is nothing to scan; a query still has to see the columns.
        if not by_types:
            types = [*map(sql_type, columns.values()), *(OUR_TYPES[name] for name in ours)]
            pairs = zip(types, names, strict=True)
            nulls = [f"CAST(NULL AS {type_}) AS {quote(name)}" for type_, name in pairs]
            return f"SELECT {', '.join(nulls)} WHERE false"
        selects = []
        for (number, has_hour), paths in sorted(by_types.items()):
            file_types = self.schema.sets[number]
            places = {name: f"c{at}" for at, name in enumerate(file_types)}
            values = [
                cast(places[name], file_types[name], type_, self.identity.form)
                if name in file_types
                else f"CAST(NULL AS {sql_type(type_)})"
                for name, type_ in columns.items()
            ]
            texts = {**_PARTITIONS, "partner": literal(self.identity.partner), "currency": "NULL"}
            if has_hour:
                texts["hour"] = _HOUR
            if field := self.identity.names.sent("currency", file_types):
                texts["currency"] = places[field]
            values += [f"CAST({texts[name]} AS {OUR_TYPES[name]})" for name in ours]
            selection = zip(values, names, strict=True)
            fields = ", ".join(f"{value} AS {quote(name)}" for value, name in selection)
            source = self._source(paths, file_types, columns, has_hour=has_hour)
            selects.append(f"SELECT {fields} FROM {source}")  # noqa: S608  # all of it quoted here
        return " UNION ALL ".join(selects)

    def _source(
        self, paths: list[str], file_types: Types, columns: Types, *, has_hour: bool
    ) -> str:
        """Return the reader of files of one set of types, with its columns as c0, c1, ..."""
        # Of events without any field, a file has the documented columns.
        count = len(file_types or EVENT_KINDS)
        names = [*(f"c{at}" for at in range(count)), *([_HOUR] if has_hour else [])]
        places = ", ".join([*names, "filename"])
        if self.identity.form == "parquet":
            return f"read_parquet({literals(paths)}, {_FILES_ONLY}) AS t({places})"
        read_as = {
            # As text, a number is rounded to that of a float.
            name: reading_type(type_ if is_fraction(type_) else columns[name])
            for name, type_ in file_types.items()
        }
        # DuckDB does not distinguish capital letters, so it finds only one of such names. It knows
        # no empty name either.
        plain = {name.lower(): name for name in [*file_types][::-1] if name}.values()
        if (
            file_types
            and len(plain) == len(file_types)
            and not any(type_.is_mixed for type_ in file_types.values())
        ):
            types = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in read_as.items())
            options = f"columns = {{{types}}}, format = 'newline_delimited', {_FILES_ONLY}"
            return f"read_json({literals(paths)}, {options}) AS t({places})"
        parsed = {name: read_as[name] for name in plain if not file_types[name].is_mixed}
        values = [
            f"{member(name, type_, file_types[name], parsed)} AS c{at}"
            for at, (name, type_) in enumerate(read_as.items())
        ]
        fields = ", ".join([*values, f"{_FILE} AS filename"])
        lines = f"read_ndjson_objects({literals(paths)}, {_FILES_ONLY})"
        line = parse_line(parsed) if parsed else "NULL"
        line = f"SELECT json, {line} AS line, {_FILE} FROM {lines}"  # noqa: S608  # all of it quoted here
        return f"(SELECT {fields} FROM ({line}))"  # noqa: S608  # as above

    def mount(self, connection: "duckdb.DuckDBPyConnection") -> None:
        """Let DuckDB read object storage through the library that the dataset uses.

        Raises:
            ConfigurationError: for a DuckDB that cuts times and reads numbers through floats.
        """
        version = import_extra("duckdb").__version__
        if tuple(map(int, re.findall(r"\d+", version)[:3])) < _EXACT_SINCE:
            raise ConfigurationError(
                f"DuckDB {version} does not read all digits.",
                remedy="Install duckdb 2.0.1 or later.",
            )
        if isinstance(self.store, ObjectStore):
            from adanalytics_client.dataset.storage.ranges import SizedFiles

            files = {file.name: (file.size, file.sha256) for file in self.files}
            connection.register_filesystem(
                SizedFiles(self.scheme, self.store, files, self.failures)
            )

    def find_damage(self, error: str, *, thorough: bool) -> DatasetDamaged | None:
        """Return an error for the first file that differs from its record, or None.

        The bytes of the files that `error` names are checked, or of all if `thorough`.
        """
        sizes = self.store.sizes(DATA)
        for file in self.files:
            # To read every file takes long, so at first only the one that DuckDB names.
            size, checked = sizes.get(file.name), thorough or self.store.address(file.name) in error
            if size is None and not self._is_current(file):
                return DatasetDamaged(
                    f"{self.store.place}/{file.name} was removed by a sync meanwhile.",
                    remedy=f"Query again.{_RETENTION if self.identity.table else ''}",
                )
            if size is None:
                damage = "was deleted"
            elif size != file.size:
                damage = f"has {size:,} bytes, not {file.size:,}"
            elif checked and checksum(self.store, file.name) != file.sha256:
                damage = "is corrupt (checksum mismatch)"
            else:
                continue
            return DatasetDamaged(f"{self.store.place}/{file.name} {damage}.", remedy=_REPAIR)
        return None

    def _is_current(self, file: DataFile) -> bool:
        """Return whether the manifest names a file now, too."""
        files = Manifest(self.store).day(file.day).data_files(self.identity)
        return file.name in {current.name for current in files}
