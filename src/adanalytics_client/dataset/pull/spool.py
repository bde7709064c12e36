"""Received pages and export orders, kept until their hours are committed.

A killed sync need not request them again. Each belongs to a query, to the time at which the query
began, and to the summary of its days at that time.
"""

import json
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Self

from adanalytics_client.dataset.planning import PullQuery
from adanalytics_client.dataset.records.layout import EXPORTS, SPOOL
from adanalytics_client.dataset.records.manifest import read_record, seal
from adanalytics_client.dataset.storage.local import Store

_HEAD, _PAGE = "query.json", "page-"


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page of events.

    Attributes:
        jsonl: each event as a line of JSON.
        last: whether this is the last page of the query.
        token: the client's token for continuing after this page.
        total: the number of events in the query, if the service states it.
    """

    number: int
    jsonl: bytes
    last: bool
    token: str
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a query.

    Attributes:
        at: the moment before its first request, in UTC.
        basis: a digest of the summary of its days; see `Spool`.
        job: the ordered export, as text; its addresses may be signed, so no `repr` shows it.
        per_page: the most events of a page; 0 for the usual number.
    """

    query: PullQuery
    at: datetime
    basis: str
    job: str = field(default="", repr=False)
    per_page: int = 0


@dataclass(eq=False)
class Spool:
    """The pages received for one query, or the export job ordered for it.

    `basis` is a digest of the summary of the query's days; pages stored with another basis are not
    used.
    """

    _store: Store
    query: PullQuery
    _basis: str
    start: Start | None

    @classmethod
    def open(cls, store: Store, query: PullQuery, basis: str) -> Self:
        """Read what an earlier run kept of a query, of which fewer hours may be wanted now."""
        start = read_start(store, folder_of(query))
        if start is not None:
            start = replace(start, query=query) if start.basis == basis else None
        return cls(store, query, basis, start)

    def begin(self, now: datetime, job: str = "", per_page: int = 0) -> Start:
        self.clear()
        self.start = Start(self.query, now, self._basis, job, per_page)
        name, head = f"{folder_of(self.query)}/{_HEAD}", seal(self.start)
        # An order contains signed addresses.
        self._store.write(name, head, lasting=False, private=bool(job))
        return self.start

    def put(self, page: StoredPage) -> None:
        """Store a page; if a power failure damages it, the page is requested again."""
        head = {
            "began": self._began(),
            "number": page.number,
            "last": page.last,
            "token": page.token,
            "total": page.total,
            # It costs a third of a SHA-256 here, and pages are most of the bytes that a sync reads.
            "crc32": zlib.crc32(page.jsonl),
        }
        content = json.dumps(head).encode() + b"\n" + page.jsonl
        self._store.write(self._page_name(page.number), content, lasting=False)

    def pages(self) -> Iterator[StoredPage]:
        """Yield the stored pages in order, and stop before the first damaged one."""
        for number in count(1):
            content = self._store.read(self._page_name(number)) or b""
            head, _, body = content.partition(b"\n")
            try:
                says = json.loads(head)
            except ValueError:
                return
            # A start that was killed while it cleared the folder leaves pages of an earlier start.
            if says.get("began") != self._began() or says.get("crc32") != zlib.crc32(body):
                return
            yield StoredPage(says["number"], body, says["last"], says["token"], says["total"])

    def clear(self) -> None:
        self.start = None
        _clear(self._store, folder_of(self.query))

    def _began(self) -> str:
        return self.start.at.isoformat() if self.start else ""

    def _page_name(self, number: int) -> str:
        return f"{folder_of(self.query)}/{_PAGE}{number:06}.jsonl"


def list_started(store: Store) -> list[Start]:
    """List the `Start` of each query that an earlier run began."""
    return [start for _, start in _folders(store) if start is not None]


def count_pages(store: Store) -> int:
    """Return the number of pages that are kept for the next run."""
    return sum(name.rpartition("/")[2].startswith(_PAGE) for name in store.sizes(SPOOL))


def keep_started(store: Store, starts: Collection[Start] = ()) -> None:
    """Remove everything that earlier runs kept, except for some queries."""
    for folder, start in _folders(store):
        if start not in starts:
            _clear(store, folder)


def _folders(store: Store) -> Iterator[tuple[str, Start | None]]:
    """Yield the folder of each query, with its `Start` if that can be read."""
    for place in (SPOOL, EXPORTS):
        # Below the folder of a query there may be those of its tasks.
        for folder in sorted({"/".join(name.split("/")[:3]) for name in store.sizes(place)}):
            yield folder, read_start(store, folder)


def folder_of(query: PullQuery) -> str:
    return f"{EXPORTS if query.way == 'export' else SPOOL}/{query}"


def read_start(store: Store, folder: str) -> Start | None:
    return read_record(store, f"{folder}/{_HEAD}", Start)


def _clear(store: Store, folder: str) -> None:
    heads, pages = list[str](), list[str]()
    for name in sorted(store.sizes(folder)):
        (heads if name.endswith(_HEAD) else pages).append(name)
    # The head is removed first: pages that a kill then leaves belong to no query.
    store.remove_all(heads)
    store.remove_all(pages)
