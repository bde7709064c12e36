"""The Delta or Iceberg table of a dataset: it lists the files of the dataset, and copies none.

The manifest is the truth, and the table follows it: what both list is compared, and the difference
becomes one transaction. So after a kill between the two, the next sync repairs the table.
"""

import json
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import date
from functools import cached_property
from importlib import import_module
from itertools import chain
from os.path import realpath
from typing import Any

import pyarrow as pa

from adanalytics_client._base.validation import import_extra
from adanalytics_client._json.types import Types
from adanalytics_client._outputs.arrow.schema import arrow_schema
from adanalytics_client.dataset.records.layout import DATA, OURS
from adanalytics_client.dataset.records.manifest import DataFile, Identity, Manifest
from adanalytics_client.dataset.schema import Schema
from adanalytics_client.dataset.storage.local import Store
from adanalytics_client.errors import AdAnalyticsError, ConfigurationError, DatasetError

Files = dict[str, DataFile]
"""Files by their name below the dataset."""

# A dataset allows it, too; deltalake reads all other settings of a store from the environment.
_AS_DATASET = {"allow_http": "true"}


class FileTable:
    """Keeps a table consistent with the manifest of its dataset, whose lock the caller holds."""

    def __init__(self, store: Store, identity: Identity) -> None:
        self._identity = identity
        self._place = store.place
        log = DeltaLog if identity.table == "delta" else IcebergLog
        self._log: DeltaLog | IcebergLog = log(store, identity)

    @cached_property
    def _listed(self) -> set[str]:
        """The files that the table lists; no other process adds any."""
        with self._errors():
            return {*self._log.names()}

    def publish(
        self, manifest: Manifest, schema: Schema, days: Collection[date] | None = None
    ) -> None:
        """Make the table list the files that the manifest names for `days`; None means all days."""
        columns = self._columns(schema.union)
        with self._errors():
            types = self._log.types() if self._listed else {}
        widened = {
            column.name for column in columns if types.get(column.name) != _stored(column.type)
        }.intersection(types)
        added, removed = self.difference(manifest, None if widened else days)
        if widened:
            added = self._files(manifest, manifest.days())
        if added or removed:
            with self._errors():
                self._log.change(added, removed, columns, widened)
            self._listed.difference_update(removed)
            self._listed.update(added)

    def stale(self, schema: Schema) -> set[int]:
        """Return the sets of types of files that no table of all columns can list.

        A table has one type for each column, and no table reads whole numbers as decimals.
        """
        columns = self._columns(schema.union)
        return {
            number
            for number, types in enumerate(schema.sets)
            if any(
                columns.field(column.name).type != column.type for column in self._columns(types)
            )
        }

    def _columns(self, types: Types) -> pa.Schema:
        columns = arrow_schema(types, self._identity.names.kind, wide=True)
        for column in columns:
            if column.type == pa.timestamp("ns", tz="UTC"):
                raise DatasetError(
                    f"{column.name} has nanoseconds, which a {self._identity.table} table lacks.",
                    remedy="Make a dataset without a table.",
                )
        return columns

    def difference(
        self, manifest: Manifest, days: Collection[date] | None = None
    ) -> tuple[Files, set[str]]:
        """Return the files that the table lacks, and those that only the table lists."""
        files = self._files(manifest, manifest.days() if days is None else days)
        added = {name: file for name, file in files.items() if name not in self._listed}
        begins = ("",) if days is None else tuple(f"{DATA}/date={day}/" for day in days)
        foreign = {name for name in self._listed - files.keys() if name.startswith(begins)}
        # Rows of a day whose manifest is damaged stay until a sync has pulled it again.
        unknown = tuple(f"{DATA}/date={day}/" for day in manifest.damaged)
        return added, {name for name in foreign if not name.startswith(unknown)}

    def _files(self, manifest: Manifest, days: Iterable[date]) -> Files:
        files = (manifest.day(day).data_files(self._identity) for day in days)
        return {file.name: file for file in chain.from_iterable(files)}

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn an error of a library, which may be of any class, into a DatasetError."""
        try:
            yield
        except AdAnalyticsError:
            raise
        except Exception as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise DatasetError(
                f"Cannot use the {self._identity.table} table of {self._place}: {reason}.",
                remedy="The files are complete. Mend the cause; a sync then renews the table.",
            ) from error


def _stored(type_: pa.DataType) -> str:
    """Return a name for a type and for those by which a table may store it."""
    for name in ("timestamp", "map"):
        if getattr(pa.types, f"is_{name}")(type_):
            return name
    return str(type_).removeprefix("large_")


class DeltaLog:
    """The log of a Delta table, `_delta_log` in the dataset."""

    def __init__(self, store: Store, _identity: Identity) -> None:
        self._delta = import_extra("deltalake", extra="delta")
        self._address = store.address(DATA).removesuffix(f"/{DATA}")
        self._table: Any = None

    def names(self) -> Iterable[str]:
        try:
            self._table = self._delta.DeltaTable(self._address, storage_options=_AS_DATASET)
        except self._delta.exceptions.TableNotFoundError:
            return []
        return list(pa.table(self._table.get_add_actions())["path"].to_pylist())

    def types(self) -> dict[str, str]:
        if self._table is None:
            return {}
        return {field.name: _stored(field.type) for field in pa.schema(self._table.schema())}

    def change(
        self, added: Files, removed: Collection[str], columns: pa.Schema, widened: Collection[str]
    ) -> None:
        """List other files in one transaction.

        If columns are `widened`, they get their types in `columns`, and `added` are all files.
        """
        partitions = pa.schema([("date", pa.date32()), ("hour", pa.int64())])
        schema = self._delta.Schema.from_arrow(pa.schema([*columns, *partitions]))
        if self._table is None:
            self._table = self._delta.DeltaTable.create(
                self._address, schema, partition_by=partitions.names, storage_options=_AS_DATASET
            )
        table, kinds = self._table, import_module("deltalake.transaction")
        names = {field.name for field in table.schema().fields}
        lacking = [field for field in schema.fields if field.name not in names]
        if lacking and not widened:
            table.alter.add_columns(lacking)
        # A vacuum on any machine compares it with the time of that system.
        now = int(time.time() * 1000)
        actions = [
            kinds.RemoveAction(name, data_change=True, deletion_timestamp=now)
            for name in (() if widened else removed)
        ]
        for name, file in added.items():
            partition = {"date": str(file.day), "hour": str(min(file.hours).hour)}
            stats = json.dumps({"numRecords": file.rows})
            actions.append(kinds.AddAction(name, file.size, partition, now, True, stats))
        if not widened:
            schema = table.schema()
        # To overwrite a table also changes its schema, and removes the files that it listed.
        mode = "overwrite" if widened else "append"
        table.create_write_transaction(actions, mode, schema, partitions.names)
        table.update_incremental()


class IcebergLog:
    """The table `adanalytics.<partner>` of an Iceberg catalog.

    The catalog is the default one of pyiceberg's configuration or, without one, a SQLite file in
    the dataset. The table names files by absolute path, so a dataset that was moved needs a new
    table.
    """

    def __init__(self, store: Store, identity: Identity) -> None:
        import_extra("pyiceberg", extra="iceberg")
        self._store = store
        self._name = ("adanalytics", identity.partner)
        self._root = store.address(DATA).removesuffix(DATA)
        self._location = f"{self._root}{OURS}/iceberg"

    def names(self) -> Iterable[str]:
        with self._catalog() as catalog:
            if not catalog.table_exists(self._name):
                return []
            files = self._files(self._load(catalog))
            return [file.file_path.removeprefix(self._root) for file in files]

    def types(self) -> dict[str, str]:
        arrow = import_module("pyiceberg.io.pyarrow")
        with self._catalog() as catalog:
            schema = arrow.schema_to_pyarrow(self._load(catalog).schema())
            return {field.name: _stored(field.type) for field in schema}

    def change(
        self, added: Files, removed: Collection[str], columns: pa.Schema, widened: Collection[str]
    ) -> None:
        """List other files in one transaction; see `DeltaLog.change`."""
        arrow = import_module("pyiceberg.io.pyarrow")
        with self._catalog() as catalog:
            if not catalog.table_exists(self._name):
                catalog.create_namespace_if_not_exists(self._name[:1])
                # Each transaction writes all snapshots anew.
                kept = {"write.metadata.delete-after-commit.enabled": "true"}
                catalog.create_table(self._name, columns, self._location, properties=kept)
            table = self._load(catalog)
            with table.transaction() as change:
                if widened:
                    # A column of another type is another column: its files were written anew.
                    with change.update_schema(allow_incompatible_changes=True) as schema:
                        for name in widened:
                            schema.delete_column(name)
                with change.update_schema() as schema:
                    schema.union_by_name(columns)
                if not change.table_metadata.name_mapping():
                    mapping = change.table_metadata.schema().name_mapping.model_dump_json()
                    change.set_properties({"schema.name-mapping.default": mapping})
                update = change.update_snapshot()
                gone = removed or widened
                with update.overwrite() if gone else update.fast_append() as snapshot:
                    for file in self._files(table) if gone else ():
                        if widened or file.file_path.removeprefix(self._root) in removed:
                            snapshot.delete_data_file(file)
                    paths = iter([self._root + name for name in added])
                    for file in arrow.parquet_files_to_data_files(
                        table.io, change.table_metadata, paths
                    ):
                        snapshot.append_data_file(file)

    @contextmanager
    def _catalog(self) -> Iterator[Any]:
        config, folder = import_module("pyiceberg.utils.config").Config(), self._store.local(OURS)
        name, settings = config.get_default_catalog_name(), dict[str, str]()
        if not config.get_catalog_config(name):
            if folder is None:
                raise ConfigurationError(
                    "An Iceberg table in object storage needs a catalog.",
                    remedy="Set PYICEBERG_CATALOG__DEFAULT__URI, or write ~/.pyiceberg.yaml.",
                )
            name = "adanalytics"
            settings = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db"}
        catalogs = import_module("pyiceberg.catalog")
        with closing(catalogs.load_catalog(name, **settings)) as catalog:
            yield catalog

    def _load(self, catalog: Any) -> Any:  # noqa: ANN401  # read only where it is installed
        table = catalog.load_table(self._name)
        # Another spelling of the same folder is right, and the names in the table keep theirs.
        ours, self._location = self._location, table.location()
        if realpath(ours) != realpath(self._location):
            raise DatasetError(
                f"{'.'.join(self._name)} in the catalog is the table of {self._location}.",
                remedy="Name another default catalog. If the dataset was moved, delete its "
                f"{OURS}/catalog.db.",
            )
        self._root = self._location.removesuffix(f"{OURS}/iceberg")
        return table

    def _files(self, table: Any) -> Iterator[Any]:  # noqa: ANN401  # as above
        snapshot = table.current_snapshot()
        for manifest in snapshot.manifests(table.io) if snapshot else ():
            for entry in manifest.fetch_manifest_entry(table.io):
                yield entry.data_file
