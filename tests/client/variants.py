"""Both variants behind the same few methods, so that a scenario is written once."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing, closing
from itertools import islice
from typing import Any

import pytest

from adanalytics_client import AsyncClient, Client
from adanalytics_client.errors import AdAnalyticsError

BOTH_LIBRARIES = pytest.mark.parametrize("library", ["httpx", "httpx2"], indirect=True)
"""Run a test with our own client, which is of httpx, and with a caller's of httpx2."""


# Most scenarios are about single answers, which the count at the end of a pull would only follow.
UNCOUNTED = {"check": "none"}


class Variant:
    """Runs a scenario through a client; how its calls and loops end, the two kinds say."""

    def __init__(self, client: Client | AsyncClient) -> None:
        self.client: Any = client

    def done(self, answer: Any) -> Any:
        """Return the value of a call."""
        raise NotImplementedError

    def taken(self, iterable: Any, most: int | None = None) -> list[Any]:
        """Return the first `most` elements and leave the loop."""
        raise NotImplementedError

    def all_of(self, iterator: Any) -> list[Any]:
        raise NotImplementedError

    def together(self, *names: str) -> list[Any]:
        """Call methods at the same time; errors come as values."""
        raise NotImplementedError

    def close(self) -> None:
        self.call("close")

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        return self.on(self.client, name, *args, **options)

    def on(self, thing: Any, name: str, *args: Any, **options: Any) -> Any:
        return self.done(getattr(thing, name)(*args, **options))

    def rows(self, *args: Any, **options: Any) -> list[Any]:
        return self.all_of(self.client.events(*args, **UNCOUNTED | options).rows())

    def events(self, *args: Any, **options: Any) -> list[Any]:
        return self.all_of(self.client.events(*args, **UNCOUNTED | options))

    def pages(self, *args: Any, **options: Any) -> list[Any]:
        return self.all_of(self.client.events(*args, **UNCOUNTED | options).pages())

    def first(self, query: Any) -> Any:
        (element,) = self.taken(query, 1)
        return element


class SyncVariant(Variant):
    """Runs a scenario through `Client`."""

    def done(self, answer: Any) -> Any:
        return answer

    def taken(self, iterable: Any, most: int | None = None) -> list[Any]:
        with closing(iter(iterable)) as found:
            return list(islice(found, most))

    def all_of(self, iterator: Any) -> list[Any]:
        return list(iterator)

    def together(self, *names: str) -> list[Any]:
        results: list[Any] = [None] * len(names)

        def run(index: int) -> None:
            try:
                results[index] = self.call(names[index])
            except AdAnalyticsError as error:
                results[index] = error

        threads = [threading.Thread(target=run, args=(index,)) for index in range(len(names))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results


class AsyncVariant(Variant):
    """Runs the same scenario through `AsyncClient`, on a loop that lives as long as the client."""

    def __init__(self, client: AsyncClient) -> None:
        super().__init__(client)
        self._runner = asyncio.Runner()

    def done(self, answer: Any) -> Any:
        return self._runner.run(answer)

    def taken(self, iterable: Any, most: int | None = None) -> list[Any]:
        async def take() -> list[Any]:
            elements: list[Any] = []
            async with aclosing(aiter(iterable)) as found:
                async for element in found:
                    elements.append(element)
                    if len(elements) == most:
                        break
            return elements

        return self._runner.run(take())

    def all_of(self, iterator: Any) -> list[Any]:
        async def collect() -> list[Any]:
            return [each async for each in iterator]

        return self._runner.run(collect())

    def together(self, *names: str) -> list[Any]:
        async def all_of_them() -> list[Any]:
            calls = [getattr(self.client, name)() for name in names]
            return await asyncio.gather(*calls, return_exceptions=True)

        return self._runner.run(all_of_them())

    def close(self) -> None:
        super().close()
        self._runner.close()


OpenVariant = Callable[..., Variant]
