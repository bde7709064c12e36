"""The table of a dataset in an Iceberg catalog."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime
from importlib import import_module
from itertools import chain, pairwise
from os.path import realpath
from typing import Any

import pyarrow as pa

from adanalytics_client._base.validation import import_extra
from adanalytics_client.dataset.errors import DatasetError, TableConflict
from adanalytics_client.dataset.records.layout import DATA, OURS
from adanalytics_client.dataset.records.manifest import DataFile, Identity
from adanalytics_client.dataset.schema import free_name
from adanalytics_client.dataset.storage.local import Store
from adanalytics_client.errors import ConfigurationError

from .files import Change, read_footers, stored_type

CATALOG = f"{OURS}/catalog.db"

_SETTINGS = {
    # Each transaction writes all snapshots anew, and readers need only the last of these files.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "4",
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "2",
    # Another writer's transaction in between is not seen here, so ours must not follow it.
    "commit.retry.num-retries": "0",
}
_MOST_MANIFESTS = 8
"""The number of manifests of which a further transaction makes one."""

_PUBLISHED = "adanalytics.published-at"
_EPOCH = date(1970, 1, 1)


class IcebergLog:
    """Reads and changes the table `adanalytics.<partner>`, or another name, of an Iceberg catalog.

    The catalog is a named or the default one of pyiceberg's configuration or, without one, a SQLite
    file in the dataset. The table names files by absolute path, so a dataset that was moved needs a
    new table.
    """

    library = "pyiceberg"
    partitions = ("date",)

    def __init__(self, store: Store, identity: Identity) -> None:
        self._store = store
        self._catalog_name = identity.catalog
        name = identity.table_name or f"adanalytics.{identity.partner}"
        namespace, _, last = name.rpartition(".")
        self._name = (
            (*namespace.split("."), last)
            if identity.table_name
            else ("adanalytics", identity.partner)
        )
        self._root = store.address(DATA).removesuffix(DATA)
        self._location = f"{self._root}{OURS}/iceberg"

    def state(self) -> str:
        """Return the digest of the catalog in the dataset; empty for another one, to save time."""
        content = None if self._catalog_name else self._store.read(CATALOG)
        return hashlib.sha256(content).hexdigest() if content else ""

    def check_name(self) -> None:
        """Refuse the name of a table that is not of this dataset."""
        with self._table():
            pass

    def names(self, days: Collection[date] | None = None) -> Iterable[str]:
        with self._table() as table:
            files = self._files(table, days) if table else ()
            return [file.file_path.removeprefix(self._root) for file in files]

    def types(self) -> dict[str, str]:
        arrow = import_module("pyiceberg.io.pyarrow")
        with self._table() as table:
            schema = arrow.schema_to_pyarrow(table.schema()) if table else ()
            return {field.name: stored_type(field.type) for field in schema}

    def change(self, change: Change) -> None:
        """List other files in one transaction."""
        exceptions = import_module("pyiceberg.exceptions")
        with self._catalog() as catalog:
            if not catalog.table_exists(self._name):
                catalog.create_namespace_if_not_exists(self._name[:-1])
                catalog.create_table(
                    self._name, change.columns, self._location, properties=_SETTINGS
                )
            table = self._load(catalog)
            try:
                with table.transaction() as transaction:
                    self._change(table, transaction, change)
            # The files are committed, so the same sync run again only has to renew the table.
            except (exceptions.CommitFailedException, exceptions.ValidationException) as error:
                raise TableConflict(
                    f"Another writer committed to {'.'.join(self._name)} at the same time.",
                    remedy="Both the table and the files are complete. Run the same sync again.",
                ) from error

    def _change(self, table: Any, transaction: Any, change: Change) -> None:  # noqa: ANN401  # pyiceberg is optional
        if change.widened:
            # A column of another type is another column: its files were written anew.
            with transaction.update_schema(allow_incompatible_changes=True) as schema:
                for name in change.widened:
                    schema.delete_column(name)
        spec_name = _partition(transaction.table_metadata)
        partition = spec_name or free_name("date", change.columns.names)
        with transaction.update_schema() as schema:
            schema.union_by_name(pa.schema([*change.columns, (partition, pa.date32())]))
        if not spec_name:
            with transaction.update_spec() as spec:
                for field in transaction.table_metadata.spec().fields:
                    spec.remove_field(field.name)
                spec.add_identity(partition)
        metadata = transaction.table_metadata
        settings = {**_SETTINGS, "schema.name-mapping.default": _mapping(metadata)}
        if not settings.items() <= metadata.properties.items():
            transaction.set_properties(settings)
        removals = {*change.removed, *change.relisted}
        files = [
            file
            for file in (self._files(table) if removals else ())
            if file.file_path.removeprefix(self._root) in removals
        ]
        update = transaction.update_snapshot({_PUBLISHED: change.now.isoformat()})
        with update.overwrite() if files else update.fast_append() as snapshot:
            for file in files:
                snapshot.delete_data_file(file)
            for live, footer in read_footers(self._store, change.added):
                data_file = _data_file(transaction.table_metadata, self._root, live, footer)
                snapshot.append_data_file(data_file)
        current = transaction.table_metadata.current_snapshot()
        if len(current.manifests(table.io)) > _MOST_MANIFESTS:
            # An append merges the manifests of the version before it.
            transaction.update_snapshot(
                {_PUBLISHED: change.now.isoformat()}
            ).merge_append().commit()

    def retain(self, hours: int | None) -> None:
        """Do nothing: `prune` expires the snapshots."""

    def prune(self, before: datetime) -> tuple[Collection[str], Collection[str]]:
        """Expire earlier versions; name the files that describe the others, and those of expired.

        A version expires when the next one was there before that moment.
        """
        with self._table() as table:
            if not table:
                return (), ()
            protected = {ref.snapshot_id for ref in table.metadata.refs.values()}
            snapshots = sorted(table.snapshots(), key=lambda snapshot: snapshot.sequence_number)
            expired = [
                snapshot
                for snapshot, successor in pairwise(snapshots)
                if _moment(successor) < before and snapshot.snapshot_id not in protected
            ]
            files = [path for snapshot in expired for path in _paths_of(snapshot, table)]
            if expired:
                ids = [snapshot.snapshot_id for snapshot in expired]
                table.maintenance.expire_snapshots().by_ids(ids).commit()
                table.refresh()
            paths = [
                table.metadata_location,
                *(log.metadata_file for log in table.metadata.metadata_log),
            ]
            for snapshot in table.snapshots():
                paths += _paths_of(snapshot, table)
                # A version with a tag or a branch of somebody else keeps its files.
                if snapshot.snapshot_id in protected - {table.metadata.current_snapshot_id}:
                    manifests = snapshot.manifests(table.io)
                    entries = (item.fetch_manifest_entry(table.io) for item in manifests)
                    paths += [entry.data_file.file_path for entry in chain.from_iterable(entries)]
            root = self._root
            return {path.removeprefix(root) for path in paths}, {
                p.removeprefix(root) for p in files
            }

    def others(self) -> Collection[str]:
        """Return the names of the files that describe versions, expired ones included."""
        return self._store.sizes(f"{OURS}/iceberg").keys()

    @contextmanager
    def _catalog(self) -> Iterator[Any]:
        import_extra("pyiceberg")
        config = import_module("pyiceberg.utils.config").Config()
        name, settings = self._catalog_name or config.get_default_catalog_name(), {}
        if not config.get_catalog_config(name):
            folder = self._store.local(OURS)
            if self._catalog_name:
                raise ConfigurationError(
                    f"pyiceberg has no catalog {name}.",
                    remedy=f"Set PYICEBERG_CATALOG__{name.upper()}__URI, or add it to "
                    "~/.pyiceberg.yaml.",
                )
            # SQLite needs a local file, and the table's address must be the same for all readers.
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

    @contextmanager
    def _table(self) -> Iterator[Any]:
        """Open the table; None if there is none yet."""
        with self._catalog() as catalog:
            yield self._load(catalog) if catalog.table_exists(self._name) else None

    def _load(self, catalog: Any) -> Any:  # noqa: ANN401  # as above
        table = catalog.load_table(self._name)
        # Another spelling of the same folder is right, and the names in the table keep theirs.
        location = table.location()
        if realpath(self._location) != realpath(location):
            raise DatasetError(
                f"{'.'.join(self._name)} in the catalog is the table of {location}.",
                remedy="Name another table or catalog."
                if self._catalog_name
                else f"If the dataset was moved, delete its {CATALOG}.",
            )
        self._location = location
        self._root = location.removesuffix(f"{OURS}/iceberg")
        return table

    def _files(self, table: Any, days: Collection[date] | None = None) -> Iterator[Any]:  # noqa: ANN401  # as above
        filters, name = import_module("pyiceberg.expressions"), _partition(table.metadata)
        only = filters.AlwaysTrue()
        # Of a table with other partitions, all is read.
        if name and days is not None:
            only = filters.In(name, [*map(str, days)])
        return (task.file for task in table.scan(only).plan_files())


def _partition(metadata: Any) -> str | None:  # noqa: ANN401  # as above
    """Return the name of our partition, or None if the table has others or none."""
    fields = metadata.spec().fields
    if len(fields) != 1 or str(fields[0].transform) != "identity":
        return None
    name: str = metadata.schema().find_column_name(fields[0].source_id)
    return name if name.lstrip("_") == "date" else None


def _data_file(metadata: Any, root: str, file: DataFile, footer: Any) -> Any:  # noqa: ANN401  # as above
    """Describe a file that exists, as pyiceberg does, but with the partition of its day."""
    arrow, manifest = map(import_module, ("pyiceberg.io.pyarrow", "pyiceberg.manifest"))
    schema = metadata.schema()
    statistics = arrow.data_file_statistics_from_parquet_metadata(
        parquet_metadata=footer,
        stats_columns=arrow.compute_statistics_plan(schema, metadata.properties),
        parquet_column_mapping=arrow.parquet_path_to_id_mapping(schema),
    )
    day = import_module("pyiceberg.typedef").Record((file.day - _EPOCH).days)
    return manifest.DataFile.from_args(
        content=manifest.DataFileContent.DATA,
        file_path=f"{root}{file.name}",
        file_format=manifest.FileFormat.PARQUET,
        partition=day,
        file_size_in_bytes=file.size,
        sort_order_id=None,
        spec_id=metadata.default_spec_id,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )


def _mapping(metadata: Any) -> str:  # noqa: ANN401  # as above
    """Return the names of the columns as JSON: readers need it, because files have no ids."""
    properties: Mapping[str, str] = metadata.properties
    text: str = metadata.schema().name_mapping.model_dump_json()
    return properties.get("schema.name-mapping.default", text)


def _paths_of(snapshot: Any, table: Any) -> list[str]:  # noqa: ANN401  # as above
    """Return the paths of the files that describe a version."""
    manifests = snapshot.manifests(table.io)
    return [snapshot.manifest_list, *(manifest.manifest_path for manifest in manifests)]


def _moment(snapshot: Any) -> datetime:  # noqa: ANN401  # as above
    """Return when a version was published, by the clock of the dataset if it is ours."""
    version = snapshot.summary and snapshot.summary.additional_properties.get(_PUBLISHED)
    if version:
        return datetime.fromisoformat(version)
    return datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)
