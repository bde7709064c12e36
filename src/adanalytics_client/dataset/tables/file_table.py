"""The Delta or Iceberg table of a dataset: it lists the files of the dataset, and copies none.

The manifest is the truth, and the table follows it: what both list is compared, and the difference
becomes one transaction at the end of a sync. A record says whether the manifest was saved since the
last transaction, so that a kill between the two is repaired by the next sync, and a sync that
changes nothing need not read the table.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from importlib.util import find_spec
from itertools import chain

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from adanalytics_client._base.validation import import_extra
from adanalytics_client._json.types import Types
from adanalytics_client._outputs.arrow.schema import arrow_schema
from adanalytics_client.dataset.errors import DatasetError
from adanalytics_client.dataset.records.layout import DATA, TABLE
from adanalytics_client.dataset.records.manifest import Identity, Manifest, read_record, seal
from adanalytics_client.dataset.schema import Schema, free_name
from adanalytics_client.dataset.storage.local import Store
from adanalytics_client.errors import AdAnalyticsError

from .delta import LOG, DeltaLog
from .files import Change, Files, stored_type
from .iceberg import CATALOG, IcebergLog

RETAINED_HOURS = 24
"""For how long a new table keeps its earlier versions."""

# Earlier versions are looked for no more often, because that lists all files.
_PRUNED_EVERY = timedelta(hours=6)
# What another writer has begun to write may be of a version to come.
_STRAYS_STAY = timedelta(days=1)


class TableRecord(msgspec.Struct, frozen=True):
    """The state of a table after its last publication, and the files that await their removal.

    It stands in `_adanalytics/table.json` between two syncs.

    Attributes:
        is_behind: whether records were saved that the table may not list yet.
        state: the state of the table, as its format describes it; empty if that costs too much.
        retained_hours: for how long earlier versions stay readable; None for ever.
        pruned_at: when files of earlier versions were last looked for.
        unlisted: files of no current version, each with the moment when that was first noticed.
    """

    is_behind: bool = True
    state: str = ""
    retained_hours: int | None = None
    pruned_at: datetime | None = None
    unlisted: Mapping[str, datetime] = msgspec.field(default_factory=dict)

    @property
    def retention(self) -> timedelta | None:
        """The time for which earlier versions stay readable; None for ever."""
        return None if self.retained_hours is None else timedelta(hours=self.retained_hours)


@dataclass(slots=True)
class _Written:
    record: TableRecord | None
    is_doubtful: bool


class FileTable:
    """Keeps a table consistent with the manifest of its dataset, whose lock the caller holds.

    Attributes:
        retained_hours: for how long earlier versions are to stay readable from now on; None to
            leave that as it is.

    Raises:
        ConfigurationError: when the library of the table is not installed.
    """

    def __init__(self, store: Store, identity: Identity) -> None:
        is_delta = identity.table == "delta"
        self._log = DeltaLog(store, identity) if is_delta else IcebergLog(store, identity)
        # Not imported, which takes a second: a sync that changes nothing does not need it.
        if find_spec(self._log.library) is None:
            import_extra(self._log.library)
        self.retained_hours: int | None = None
        self._store = store
        self._identity = identity
        # Days whose records were saved since the table was published.
        self._saved: set[date] = set()

    @cached_property
    def _written(self) -> "_Written":
        """The record in the store, and whether a stop may have left the table behind it."""
        # Without it a sync compares everything, and removes nothing.
        record = read_record(self._store, TABLE, TableRecord)
        return _Written(record, record is None or record.is_behind)

    def check_name(self) -> None:
        """Raise a DatasetError if the name is that of another dataset's table."""
        with self._errors():
            self._log.check_name()

    def note(self, manifest: Manifest, days: Collection[date]) -> None:
        """Note days before their records are saved, so that the next sync knows after a stop."""
        self._saved.update(days)
        self._write(replace(self._known(manifest), is_behind=True))

    def doubt(self) -> None:
        """Let the next sync compare all of the table with the manifest."""
        if self._written.record:
            self._write(replace(self._written.record, is_behind=True))

    def publish(
        self, manifest: Manifest, schema: Schema, names: Collection[str], now: datetime
    ) -> None:
        """Make the table list the files that the manifest names, and forget earlier versions.

        Args:
            names: the names of the files in the store, replaced ones included.
            now: the time by the clock of the dataset.
        """
        if not (self._written.record or manifest.days()):
            return
        record = self._known(manifest)
        with self._errors():
            # Another writer has changed the table, or this process was killed: compare all of it.
            is_doubtful = self._written.is_doubtful or self._log.state() != record.state
            is_due = self._is_due(record, now)
            if is_doubtful or self._saved:
                days = None if is_doubtful else self._saved
                removed = self._publish(manifest, schema, days, now, record)
                unlisted = {**record.unlisted, **dict.fromkeys(removed, now)}
                record = replace(record, unlisted=unlisted)
            if is_due:
                record = self._prune(manifest, record, names, now)
            if record.retained_hours is not None and record != self._written.record:
                self._log.retain(record.retained_hours)
            record = replace(record, is_behind=False, state=self._log.state())
        self._write(record)
        self._written.is_doubtful = False
        self._saved.clear()

    def _known(self, manifest: Manifest) -> TableRecord:
        """Return the record of the table, a new one if there is none."""
        record = self._written.record
        if record is None:
            # A table whose record is damaged keeps what its readers may count on.
            record = TableRecord(retained_hours=None if manifest.days() else RETAINED_HOURS)
        if self.retained_hours is not None:
            record = replace(record, retained_hours=self.retained_hours)
        return record

    def _write(self, record: TableRecord) -> None:
        if record != self._written.record:
            self._store.write(TABLE, seal(record))
            self._written.record = record

    @staticmethod
    def _is_due(record: TableRecord, now: datetime) -> bool:
        if record.retention is None:
            return False
        pause = min(record.retention, _PRUNED_EVERY)
        return record.pruned_at is None or now - record.pruned_at >= pause

    def _prune(
        self, manifest: Manifest, record: TableRecord, names: Collection[str], now: datetime
    ) -> TableRecord:
        """Remove files that no version of the last time needs; return the record of the others."""
        retention, live = record.retention, self._files(manifest, manifest.days())
        # Nothing says which files a damaged day has.
        if retention is None or manifest.damaged:
            return record
        versions, expired = self._log.prune(now - retention)
        needed = {*live, *versions}
        unlisted = {
            name: record.unlisted.get(name, now) for name in {*names, *self._log.others()} - needed
        }

        def is_over(name: str) -> bool:
            wait = retention if name.startswith(DATA) else min(retention, _STRAYS_STAY)
            return name in expired or now - unlisted[name] >= wait

        over = {*filter(is_over, unlisted)}
        self._store.remove_all(sorted(over))
        rest = {name: since for name, since in unlisted.items() if name not in over}
        return replace(record, pruned_at=now, unlisted=rest)

    def _publish(
        self,
        manifest: Manifest,
        schema: Schema,
        days: Collection[date] | None,
        now: datetime,
        record: TableRecord,
    ) -> Collection[str]:
        """Make the table list the files of some days; return the names that it no longer lists.

        None means all days.
        """
        table_files, columns = {*self._log.names(days)}, self._columns(schema.union)
        types = self._log.types()
        self._check_partitions(types, columns)
        widened = {
            column.name for column in columns if types.get(column.name) != stored_type(column.type)
        }.intersection(types)
        # Ours, which has another name since a field has this one, in capitals.
        folded = {column.casefold() for column in columns.names}
        widened |= {
            name for name in {*types}.difference(columns.names) if name.casefold() in folded
        }
        if widened:
            days, table_files = None, {*self._log.names()}
        added, removed = self._difference(manifest, table_files, days)
        if widened:
            added = self._files(manifest, manifest.days())
        if added or removed:
            self._log.change(
                Change(
                    added=[*added.values()],
                    removed=removed,
                    columns=columns,
                    widened=widened,
                    relisted=table_files.intersection(added),
                    now=now,
                    retained_hours=record.retained_hours,
                )
            )
        return removed

    def _check_partitions(self, types: Mapping[str, str], columns: pa.Schema) -> None:
        """Refuse a field with the name of a partition of a table that exists."""
        for name in self._log.partitions if types else ():
            free = free_name(name, columns.names)
            if free != name and free not in types:
                is_delta = self._identity.table == "delta"
                steps = f"Delete {LOG}" if is_delta else f"Drop it in its catalog (or {CATALOG})"
                raise DatasetError(
                    f"Some events of {self._store.place} have a field named {name}, as has the "
                    f"partition of the {self._identity.table} table.",
                    remedy=f"{steps}: the next sync makes it anew, without earlier versions.",
                )

    def stale(self, schema: Schema) -> set[int]:
        """Return the sets of types of files that no table of all columns can list.

        A table has one type for each column, and no table reads whole numbers as decimals. In the
        files of days, the column of the hour has one name.
        """
        union = self._columns(schema.union)
        last = union.names[-1:] if self._identity.partition == "day" else []
        return {
            number
            for number, types in enumerate(schema.sets)
            for columns in [self._columns(types)]
            if (last and columns.names[-1:] != last)
            or any(union.field(column.name).type != column.type for column in columns)
        }

    def _columns(self, types: Types) -> pa.Schema:
        columns = arrow_schema(types, self._identity.names.kind, wide=True)
        for column in columns:
            # Rounded times would be other events than those of the files.
            if column.type == pa.timestamp("ns", tz="UTC"):
                raise DatasetError(
                    f"{column.name} has nanoseconds, which {self._identity.table} tables lack.",
                    remedy="Make a dataset without a table.",
                )
        if self._identity.partition == "day":
            return columns.append(pa.field(free_name("hour", types), pa.int64()))
        return columns

    def difference(self, manifest: Manifest) -> tuple[Files, set[str]]:
        """Return the files that the table lacks, and those that only the table lists."""
        with self._errors():
            return self._difference(manifest, {*self._log.names()}, None)

    def _difference(
        self, manifest: Manifest, table_files: set[str], days: Collection[date] | None
    ) -> tuple[Files, set[str]]:
        files = self._files(manifest, manifest.days() if days is None else days)
        added = {name: file for name, file in files.items() if name not in table_files}
        begins = ("",) if days is None else tuple(map(self._identity.day_folder, days))
        foreign = {name for name in table_files - files.keys() if name.startswith(begins)}
        # Rows of a day whose manifest is damaged stay until a sync has pulled it again.
        unknown = tuple(map(self._identity.day_folder, manifest.damaged))
        return added, {name for name in foreign if not name.startswith(unknown)}

    def _files(self, manifest: Manifest, days: Iterable[date]) -> Files:
        files = (record.data_files(self._identity) for record in manifest.records(days))
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
                f"Cannot use the {self._identity.table} table of {self._store.place}: {reason}.",
                remedy="The files are complete. Mend the cause; a sync then renews the table.",
            ) from error
