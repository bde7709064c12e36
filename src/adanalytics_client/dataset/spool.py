"""Pages as they arrived, kept until their hours are committed: what a kill does not cost again."""

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adanalytics_client.dataset.layout import SPOOL
from adanalytics_client.dataset.query import Query
from adanalytics_client.dataset.started_queries import HEAD, Begun, drop, read_head, write_head
from adanalytics_client.dataset.store import Store


@dataclass(frozen=True, slots=True)
class SpooledPage:
    """A page of events.

    Attributes:
        number: from 1.
        jsonl: each event as a line of JSON.
        events: how many they are.
        last: whether it is the last of its query.
        token: the client's word for going on after it.
        total: events of the query, where the service says so.
    """

    number: int
    jsonl: bytes
    events: int
    last: bool
    token: str
    total: int | None = None


class Spool:
    """The pages of one query, in order.

    Args:
        store: the dataset.
        query: the query.
        basis: what the pages are only good for together: the fingerprints of the days. Pages
            that were spooled on another basis are thrown away.
    """

    def __init__(self, store: Store, query: Query, basis: str) -> None:
        self._store = store
        self._query = query
        self._folder = f"{SPOOL}/{query}"
        self._basis = basis

    def began(self) -> datetime | None:
        """When the first page was about to be asked for; None when there is nothing to go on."""
        begun = read_head(self._store, self._head)
        return begun.at if begun and begun.basis == self._basis else None

    def begin(self, now: datetime) -> None:
        """Start anew, with nothing spooled."""
        self.clear()
        write_head(self._store, self._head, Begun(self._query, now, self._basis))

    def put(self, page: SpooledPage) -> None:
        """Keep a page. It need not survive a loss of power: a damaged one is asked for again."""
        body = page.jsonl
        head = {
            "number": page.number,
            "events": page.events,
            "last": page.last,
            "token": page.token,
            "total": page.total,
            # A third of the price of a SHA-256 here, and pages are most of what a sync reads.
            "crc32": zlib.crc32(body),
        }
        name = self._name(page.number)
        self._store.write(name, json.dumps(head).encode() + b"\n" + body, lasting=False)

    def pages(self) -> Iterator[SpooledPage]:
        """The pages that were kept, from the first up to one that was not, or not whole."""
        number = 1
        while (page := self._page(number)) is not None:
            yield page
            number += 1

    def _page(self, number: int) -> SpooledPage | None:
        content = self._store.read(self._name(number))
        head, _, body = (content or b"").partition(b"\n")
        try:
            told: dict[str, Any] = json.loads(head)
        except ValueError:
            return None
        if told.get("crc32") != zlib.crc32(body):
            return None
        return SpooledPage(
            told["number"], body, told["events"], told["last"], told["token"], told["total"]
        )

    def clear(self) -> None:
        """Throw everything away."""
        drop(self._store, self._folder)

    @property
    def _head(self) -> str:
        return f"{self._folder}/{HEAD}"

    def _name(self, number: int) -> str:
        return f"{self._folder}/page-{number:06}.jsonl"
