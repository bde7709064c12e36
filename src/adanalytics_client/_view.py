"""The client as datasets and Spark see it: on the caller's connections, with an end of its own."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date, datetime

from ._base.observer import Observer
from ._base.validation import invalid
from ._events.comparison import CountedDays, compare_days
from ._events.counts import NotCounted, request_total
from ._shapes.service import ServiceProfile
from .client import Client
from .errors import ProtocolError

__all__ = ["CountedDays", "View"]


class View(Client):
    """A client on the connections of another; closing it ends only its own requests."""

    def __init__(self, client: Client) -> None:
        if not isinstance(client, Client):
            raise invalid("client", client, "Pass a Client; in asyncio, call this in a thread.")
        connection = client.connection
        self.connection = replace(connection, driver=connection.driver.branch())
        self._shares = True

    def close(self) -> None:
        self.connection.driver.close()

    @property
    def service(self) -> ServiceProfile:
        return self._session.config.service

    @property
    def observer(self) -> Observer:
        return self._session.observer

    def now(self) -> datetime:
        """Return the client's time, in the time zone of the service."""
        return self.service.now(self._session.clock.time())

    def count_events(
        self, day: date, hour: int | None = None, *, last: date | None = None
    ) -> int | None:
        """Request the service's own count of the events of some days, or of one hour of them.

        It is None if the service states none, or none that can be used.
        """
        operation = request_total(self._session, day, last or day, hour)
        try:
            return self.connection.driver.run(operation)
        except (NotCounted, ProtocolError):
            return None

    def compare_days(self, days: Mapping[date, int], dates: Collection[date]) -> CountedDays:
        """Compare the numbers of events of some days with the service's own count.

        No other day between them has events, and those that are `dates` have some.
        """
        return self.connection.driver.run(compare_days(self._session, days, dates))
