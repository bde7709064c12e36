"""Both variants behind the same few methods, so that a scenario is written once."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing, closing
from typing import Any

import pytest

from adanalytics_client import AsyncClient, Client
from adanalytics_client.errors import AdAnalyticsError

BOTH_LIBRARIES = pytest.mark.parametrize("library", ["httpx", "httpx2"], indirect=True)
"""Run a test with our own client, which is of httpx, and with a caller's of httpx2."""


# Most scenarios are about single answers, which the count at the end of a pull would only follow.
UNCOUNTED = {"check": "none"}


class SyncVariant:
    """Runs a scenario through `Client`."""

    def __init__(self, client: Client) -> None:
        self.client: Any = client

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        return getattr(self.client, name)(*args, **options)

    def on(self, thing: Any, name: str, *args: Any, **options: Any) -> Any:
        return getattr(thing, name)(*args, **options)

    def rows(self, *args: Any, **options: Any) -> list[Any]:
        return list(self.client.events(*args, **UNCOUNTED | options).rows())

    def events(self, *args: Any, **options: Any) -> list[Any]:
        return list(self.client.events(*args, **UNCOUNTED | options))

    def pages(self, *args: Any, **options: Any) -> list[Any]:
        return list(self.client.events(*args, **UNCOUNTED | options).pages())

    def all_of(self, iterator: Any) -> list[Any]:
        return list(iterator)

    def first(self, query: Any) -> Any:
        with closing(iter(query)) as events:
            return next(events)

    def together(self, *names: str) -> list[Any]:
        """Call methods at the same time; errors come as values."""
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

    def close(self) -> None:
        self.client.close()


class AsyncVariant:
    """Runs the same scenario through `AsyncClient`, on a loop that lives as long as the client."""

    def __init__(self, client: AsyncClient) -> None:
        self.client: Any = client
        self._runner = asyncio.Runner()

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        return self.on(self.client, name, *args, **options)

    def on(self, thing: Any, name: str, *args: Any, **options: Any) -> Any:
        return self._runner.run(getattr(thing, name)(*args, **options))

    def rows(self, *args: Any, **options: Any) -> list[Any]:
        return self.all_of(self.client.events(*args, **UNCOUNTED | options).rows())

    def events(self, *args: Any, **options: Any) -> list[Any]:
        return self.all_of(self.client.events(*args, **UNCOUNTED | options))

    def pages(self, *args: Any, **options: Any) -> list[Any]:
        return self.all_of(self.client.events(*args, **UNCOUNTED | options).pages())

    def together(self, *names: str) -> list[Any]:
        """Call methods at the same time; errors come as values."""

        async def all_of_them() -> list[Any]:
            calls = [getattr(self.client, name)() for name in names]
            return await asyncio.gather(*calls, return_exceptions=True)

        return self._runner.run(all_of_them())

    def close(self) -> None:
        self._runner.run(self.client.close())
        self._runner.close()

    def all_of(self, iterator: Any) -> list[Any]:
        async def collect() -> list[Any]:
            return [each async for each in iterator]

        return self._runner.run(collect())

    def first(self, query: Any) -> Any:
        async def look() -> Any:
            async with aclosing(aiter(query)) as events:
                return await anext(events)

        return self._runner.run(look())


Variant = SyncVariant | AsyncVariant
OpenVariant = Callable[..., Variant]
