"""A client on the bench: a stand-in for its service, and the client itself, in one variant."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.client.moved_clock import MovedClock
from tests.client.stand_in import Asked, Say, Script, StandIn
from tests.client.variants import OpenVariant, Variant


@dataclass
class Bench:
    """A stand-in that answers as a test says, and what a client makes of the answers.

    `open` opens clients with settings of their own; the others are of `variant`. One clock is that
    of all.
    """

    stand_in: StandIn
    open: OpenVariant
    clock: MovedClock

    @cached_property
    def variant(self) -> Variant:
        """The client of all that a test does in one run."""
        return self.open()

    @property
    def client(self) -> Any:
        return self.variant.client

    @property
    def url(self) -> str:
        return self.stand_in.url

    @property
    def asked(self) -> list[Asked]:
        return self.stand_in.asked

    @property
    def script(self) -> Script:
        return self.stand_in.script

    @script.setter
    def script(self, script: Script) -> None:
        self.stand_in.script = script

    def says(self, *answers: Say, **by_name: list[Say]) -> None:
        self.stand_in.says(*answers, **by_name)

    def holds(
        self,
        stored: Sequence[Any] | Callable[[int], Sequence[Any]],
        size: int = 0,
        *,
        totals: bool = True,
        **beside: Any,
    ) -> None:
        """Answer each query with its page of what is stored, by then or for a page's number.

        A page has `size` events if the service has a size of its own.
        """

        def script(asked: Asked) -> Say:
            number = int(asked.query["page"])
            rows = stored(number) if callable(stored) else stored
            end = number * (most := size or int(asked.query["per_page"]))
            total = {"total": len(rows)} if totals else {}
            return Say({"events": rows[end - most : end], **total, **beside})

        self.script = script

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        return self.variant.call(name, *args, **options)

    def on(self, thing: Any, name: str, *args: Any, **options: Any) -> Any:
        return self.variant.on(thing, name, *args, **options)

    def rows(self, *args: Any, **options: Any) -> list[Any]:
        return self.variant.rows(*args, **options)

    def pages(self, *args: Any, **options: Any) -> list[Any]:
        return self.variant.pages(*args, **options)

    def events(self, *args: Any, **options: Any) -> list[Any]:
        return self.variant.events(*args, **options)

    def all_of(self, iterator: Any) -> list[Any]:
        return self.variant.all_of(iterator)

    def first(self, query: Any) -> Any:
        return self.variant.first(query)
