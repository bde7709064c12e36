"""What tasks delivered: the results of the queries that `Sync.tasks` planned."""

from collections.abc import Collection, Generator, Mapping
from dataclasses import replace
from pathlib import Path

from adanalytics_client.dataset.planning import Query
from adanalytics_client.dataset.pull.exports import Sorted, join_parts
from adanalytics_client.dataset.pull.fetch import Pulled
from adanalytics_client.dataset.pull.spool import Spool, Start, list_started
from adanalytics_client.dataset.records.contents import Contents
from adanalytics_client.dataset.records.layout import EXPORTS, Hour
from adanalytics_client.dataset.report import FailedQuery
from adanalytics_client.dataset.tasks.task import Part
from adanalytics_client.errors import DatasetError, ProtocolError


class Delivered:
    """The planned queries of a dataset, and the parts that tasks delivered for each.

    If a query's hours were committed after it was planned, its parts are ignored.

    Raises:
        DatasetError: for a part of another plan.
    """

    def __init__(self, parts: Collection[Part], contents: Contents) -> None:
        self._contents, store = contents, contents.store
        planned = {
            replace(start, job=""): dict[int, Part]()
            for start in list_started(store, lambda _start: True)
            if start.query.way == "export"
        }
        sizes = store.sizes(EXPORTS)
        for part in parts:
            if part.start in planned:
                # A commit that was killed has moved some of its files.
                if all(sizes.get(of.file or "", 0) == of.record.size for of in part.hours):
                    # Of repeated and speculative tasks, the first counts.
                    planned[part.start].setdefault(part.number, part)
            elif not self._is_done(part.start):
                raise DatasetError(
                    f"{store.place} has no plan for a part of {part.start.query}.",
                    remedy="Commit parts of the last plan only, or plan again.",
                )
        for start in [*filter(self._is_done, planned)]:
            Spool(store, start.query, start.basis).clear()
            del planned[start]
        self._planned = planned

    def hours(self) -> list[Hour]:
        return [hour for start in self._planned for hour in start.query.wanted]

    def undivided(self) -> list[Query]:
        """List the queries whose files must be read whole because a section was unreadable."""
        planned = self._planned.items()
        return [start.query for start, of in planned if not all(part.hours for part in of.values())]

    def pulled(self, folder: Path) -> Generator[Pulled | FailedQuery]:
        """Yield every other query's hours, or its failure; a failed query must be ordered again."""
        store, identity, others = self._contents.store, self._contents.identity, self.undivided()
        for start, parts in self._planned.items():
            query, spool = start.query, Spool(store, start.query, start.basis)
            if query in others:
                continue
            try:
                total, pieces = _complete(query, parts)
                yield Pulled(join_parts(query, total, pieces, store, folder, identity), spool)
            except (DatasetError, ProtocolError) as error:
                kind = type(error).__name__
                yield FailedQuery(str(query), query.wanted, kind, error.message)
                spool.clear()

    def with_command(self, failed: FailedQuery) -> FailedQuery:
        """Add to the failure's message the command that finishes the days of its query."""
        days, place = [hour.day for hour in failed.hours], self._contents.store.place
        command = f"adanalytics sync {min(days)} {max(days)} --to {place}"
        return replace(failed, message=f"{failed.message} Finish with: {command}")

    def _is_done(self, start: Start) -> bool:
        held = map(self._contents.manifest.record, start.query.wanted)
        return all(record and record.asked_at >= start.at for record in held)


def _complete(query: Query, parts: Mapping[int, Part]) -> tuple[int | None, list[Sorted]]:
    """Return the number of events that the service states, and all parts in their order."""
    ordered = [parts[number] for number in sorted(parts)]
    if not ordered or ordered[0].of > len(ordered):
        raise ProtocolError(f"Some tasks of the export of {query} delivered no part.")
    return ordered[0].stated, [(part.hours, part.rows) for part in ordered]
