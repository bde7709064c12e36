"""Queries that were begun and not done: what a later run goes on with before it plans anew."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from adanalytics_client.dataset.checksummed_json import seal, unseal
from adanalytics_client.dataset.layout import EXPORTS, SPOOL
from adanalytics_client.dataset.query import Query
from adanalytics_client.dataset.store import Store

HEAD = "query.json"
"""The file that says which query a folder below the spool or the exports is about."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A query that was begun: when, on which basis and, for an export, the order for it."""

    query: Query
    at: datetime
    basis: str
    job: str = ""


def write_head(store: Store, name: str, begun: Begun) -> None:
    """Note that a query is begun."""
    head = {
        "at": begun.at.isoformat(),
        "basis": begun.basis,
        "query": begun.query.as_json(),
        "job": begun.job,
    }
    store.write(name, seal(head), lasting=False)


def read_head(store: Store, name: str) -> Begun | None:
    """What was noted, or None where nothing is, or nothing whole."""
    try:
        head = unseal(store.read(name) or b"")
        at = datetime.fromisoformat(head["at"])
        return Begun(Query.from_json(head["query"]), at, str(head["basis"]), str(head["job"]))
    except (KeyError, TypeError, ValueError):
        return None


def take_up(store: Store, basis_of: Callable[[Query], str]) -> list[Query]:
    """The queries to go on with; those begun on another basis are thrown away."""
    found = []
    for place in (SPOOL, EXPORTS):
        for folder in sorted({name.rpartition("/")[0] for name in store.sizes(place)}):
            begun = read_head(store, f"{folder}/{HEAD}")
            if begun is not None and begun.basis == basis_of(begun.query):
                found.append(begun.query)
            else:
                drop(store, folder)
    return found


def drop(store: Store, folder: str) -> None:
    """Throw away everything of a query."""
    for name in store.sizes(folder):
        store.remove(name)
