"""A running server as tests drive it: its own data, faults, clock, journal and reset."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from itertools import count
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener
from uuid import UUID, uuid4

import msgspec
from pydantic import BaseModel

from .accounts.people import Role
from .clock import Clock, milliseconds_of
from .control.controls import ControlError
from .control.files import CannotRestore
from .faults import Entry, Fault, FaultCount, Faults, Journal
from .seed.generate import Sample

FIRST_DAY = Sample().start
CONTROL_SECONDS = 30.0
Send = Callable[..., Any]
_OPENER = build_opener(ProxyHandler({}))
# Ids count up, so that events of one moment keep the order in which they were made.
_FIRST_ID = uuid4().int >> 64 << 64
_NUMBERS = count(1)


def event(**fields: object) -> dict[str, object]:
    """Return an event with these fields; by default, it is an impression at noon on 2026-01-15.

    Each call makes a new ``event_id``. Pass the event to ``add_events``, which checks the fields.

    Examples:
        >>> event(country="DE", revenue="0.01")["event_type"]
        'impression'
    """
    return {
        "event_id": str(UUID(int=_FIRST_ID + next(_NUMBERS))),
        "event_time": f"{FIRST_DAY}T12:00:00.000Z",
        "event_type": "impression",
        "supply_tag_id": 1,
        **fields,
    }


class ControlledServer:
    """A server that a test controls through its control API.

    Attributes:
        url: the server's address; empty until the server runs.
        partner: the id of the partner.
        api_key: an admin's API key.
        email: the admin's e-mail address.
        password: the admin's password; users added with ``add_user`` get the same one by default.
        faults: the armed faults; ``add``, ``clear`` and ``counts`` work while the server runs.
        journal: the requests so far; ``entries`` lists them, and ``clear`` deletes them.
        clock: the server's time; ``advance`` moves it.
        rate_limit: requests per hour for each key, and for each user with a login token; 0 means no
            limit.
    """

    faults: Faults
    journal: Journal
    clock: Clock
    url: str = ""
    partner: str = ""
    api_key: str = ""
    email: str = ""
    password: str = ""
    rate_limit: int = 0

    def add_events(
        self,
        events: Iterable[Mapping[str, object] | BaseModel],
        *,
        partner: str | None = None,
        replace_hours: bool = False,
    ) -> int:
        """Store events and return how many were new.

        Args:
            events: mappings of fields, or models like the client's ``Event``. A missing field gets
                the value that ``event`` would give it. The events must follow the same rules as
                events loaded from a file.
            partner: the id of the partner; by default, the server's own partner.
            replace_hours: first remove existing events of the same hours, as a restatement does.

        Raises:
            ControlError: an event is invalid; the error gives the event's number and the field.
                None is stored.
            TypeError: the events are not a list of mappings or models.

        Examples:
            >>> server.add_events([event(country="DE"), {"event_type": "click"}])
            2
        """
        rows = [event(**_fields(row)) for row in events]
        body = {"partner": partner or self.partner, "events": rows, "replace_hours": replace_hours}
        return int(self._send("POST", "events", body)["stored"])

    def add_partner(self, partner: str, *, currency: str = "USD") -> None:
        """Add a partner without events.

        Raises:
            ControlError: the id is invalid or in use, or the currency is not an ISO 4217 code.
        """
        self._send("POST", "partners", {"id": partner, "currency": currency})

    def add_user(
        self,
        email: str,
        *,
        role: Role = "analyst",
        partners: Iterable[str] = (),
        password: str | None = None,
    ) -> None:
        """Add a user who signs in with a password, by default ``server.password``.

        Args:
            email: the address.
            role: an ``analyst`` or a ``viewer`` can read the data of ``partners``; an ``admin`` can
                read all data.
            partners: ids of partners.
            password: at least eight characters.

        Raises:
            ControlError: the e-mail address is already in use, or a partner does not exist.
        """
        body = {"email": email, "role": role, "partners": list(partners), "password": password}
        self._send("POST", "users", body)

    def reset(self) -> None:
        """Restore the initial state, or the one that ``keep`` saved, in a few milliseconds.

        This restores events, accounts, exports, the request limit, the clock, the faults and the
        journal. Requests delayed by a fault continue at once.

        Raises:
            ControlError: the server is not running.
            CannotRestore: events were loaded into a partner that already had over 64 MiB of data.
        """
        self._send("POST", "reset")

    def keep(self) -> None:
        """Save the current state, including your own data, as the state that ``reset`` restores.

        Raises:
            ControlError: the server is not running.
        """
        self._send("POST", "keep")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(url={self.url!r}, partner={self.partner!r})"

    def _prepare(self, currency: str, sample: Sample | None) -> None:
        access = self._send("POST", "access", {"id": self.partner, "currency": currency})
        self.api_key, self.email = access["api_key"], access["email"]
        self.password, self.rate_limit = access["password"], access["rate_limit"]
        if sample is not None:
            body = {"partner": self.partner, "sample": asdict(sample)}
            # It may take minutes.
            self._send("POST", "sample", body, timeout=None)

    def _send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        timeout: float | None = CONTROL_SECONDS,
    ) -> Any:  # noqa: ANN401  # JSON
        if not self.url:
            raise ControlError("the server is not running: start it first")
        # Times, amounts and ids as text, which the rules of the fields read.
        content = None if body is None else json.dumps(body, default=str).encode()
        headers = {"Content-Type": "application/json"}
        request = Request(f"{self.url}/_control/{path}", content, headers, method=method)  # noqa: S310  # the server's own address
        try:
            with _OPENER.open(request, timeout=timeout) as answer:
                return json.loads(answer.read() or b"null")
        except HTTPError as error:
            with error:
                text = json.loads(error.read())["error"]
            if text == "Not Found":
                text = f"{self.url} offers no test controls: start it with --test-controls"
            raise (CannotRestore if error.code == 409 else ControlError)(text) from None
        except URLError as error:
            raise ControlError(f"{self.url} is not running: {error.reason}") from None


class RemoteServer(ControlledServer):
    """A server that runs elsewhere (for example in a container) with its test controls on.

    The constructor restores the server's initial state, not one that ``keep`` saved. The end of a
    ``with`` block resets the server again. Let only one test process use it at a time.

    Args:
        url: the server's address, such as ``http://127.0.0.1:8000``.
        partner: the partner's id; a partner that does not exist is added.
        currency: the partner's currency; used only if the partner is added.
        sample: the events to generate after the reset; with ``None``, existing events stay.

    Raises:
        ControlError: nothing answers at the address, or the server there offers no test controls.

    Examples:
        >>> server = RemoteServer("http://127.0.0.1:8000")
        >>> server.add_events([event(country="DE")])
        1
    """

    def __init__(
        self,
        url: str,
        *,
        partner: str = "acme",
        currency: str = "USD",
        sample: Sample | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self.partner = partner
        self.faults = RemoteFaults(self._send)
        self.journal = RemoteJournal(self._send)
        self.clock = RemoteClock(self._send)
        self._send("DELETE", "keep")
        self._prepare(currency, sample)
        self.keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._send("DELETE", "keep")


class RemotePart:
    """A part of a server, over the control API."""

    def __init__(self, send: Send) -> None:
        self._send = send


class RemoteFaults(RemotePart, Faults):
    """Like ``Faults``, but over the control API."""

    def add(self, *faults: str | Fault) -> None:
        self._send("POST", "faults", {"faults": [msgspec.to_builtins(fault) for fault in faults]})

    def clear(self) -> None:
        self._send("DELETE", "faults")

    def counts(self) -> list[FaultCount]:
        return msgspec.convert(self._send("GET", "faults")["faults"], list[FaultCount])


class RemoteJournal(RemotePart, Journal):
    """Like ``Journal``, but over the control API."""

    def entries(self) -> list[Entry]:
        return msgspec.convert(self._send("GET", "requests")["requests"], list[Entry])

    def clear(self) -> None:
        self._send("DELETE", "requests")


class RemoteClock(RemotePart, Clock):
    """Like ``Clock``, but over the control API."""

    def milliseconds(self) -> int:
        return milliseconds_of(datetime.fromisoformat(self._send("GET", "clock")["now"]))

    @property
    def is_frozen(self) -> bool:
        return bool(self._send("GET", "clock")["frozen"])

    def advance(self, seconds: float) -> None:
        self._send("POST", "clock", {"advance": seconds})

    def set(self, at: datetime) -> None:
        self._send("POST", "clock", {"now": at.isoformat()})

    def freeze(self, at: datetime | None = None) -> None:
        self._send("POST", "clock", {"freeze": True, **({"now": at.isoformat()} if at else {})})

    def run(self) -> None:
        self._send("POST", "clock", {"freeze": False})


def _fields(row: object) -> dict[str, Any]:
    if isinstance(row, BaseModel):
        return row.model_dump()
    if not isinstance(row, Mapping):
        raise TypeError(
            f"add_events takes a list of events, each a mapping or a model, not {row!r}"
        )
    return dict(row)
