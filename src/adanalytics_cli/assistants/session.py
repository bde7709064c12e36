"""One session of an assistant: its calls, one after the other, and their requests."""

import json
import math
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import anyio

from adanalytics_cli.core.errors import CommandError, UsedUp
from adanalytics_client._base.quantities import counted

from .answers import NOTICE, Answers
from .commands import Result, error_record, run_command
from .tools import Tool, Values


class Limits(NamedTuple):
    """What a session may do: requests of a call and of all calls, bulk exports, and seconds.

    A sync may take longer, as long as it may send requests.
    """

    call: int
    session: int
    exports: bool
    seconds: float


class Offer(NamedTuple):
    """The price of a sync: what it would pull, and the requests that the price has cost.

    `answer` is for a sync that has nothing to pull, costs too much, or cannot be priced.
    """

    hours: int
    events: int
    requests: int
    spent: int
    answer: str
    is_error: bool

    @property
    def price(self) -> int:
        """Return the requests still to send: a sync asks again what its price was made of."""
        return self.requests + self.spent

    @property
    def question(self) -> str:
        """Return the question to the user."""
        return (
            f"Pull {counted(self.hours, 'hour')}, about {counted(self.events, 'event')}, with at "
            f"most {counted(self.price, 'request')}?"
        )


@dataclass(eq=False, repr=False, kw_only=True)
class Session:
    """Runs the calls of one assistant.

    Attributes:
        options: the options before every command, which name the service and the partner.
        partners: the number of partners, each of which has its price.
        sign_in: the requests by which each command that sends any signs in: 1 with a password.
        place: the dataset.
        work: a private folder, which the caller deletes at the end.
        limits: what a session may do.
        answers: makes the answers.
    """

    options: list[str]
    partners: int
    sign_in: int
    place: str
    work: Path
    limits: Limits
    answers: Answers
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _offers: dict[tuple[str, ...], Offer] = field(default_factory=dict)

    @property
    def meter(self) -> Path:
        """The file with a byte for each request."""
        return self.work / "requests"

    async def call(
        self, tool: Tool, values: Values, offer: Offer | None = None
    ) -> tuple[str, bool]:
        """Return the answer to a call, and whether it is an error.

        A sync has an `offer`, whose requests are a part of the call.

        Raises:
            UsedUp: if the call would send more requests than it may.
        """
        price = offer.price if offer else self._price_of(tool, values)
        spent = offer.spent if offer else 0
        async with nullcontext() if tool.is_light else self._lock:
            return self._answer(tool, *await self._run(tool, values, price, spent=spent))

    async def price_sync(self, tool: Tool, values: Values) -> Offer:
        """Return the price of a sync, for which a few requests are sent; `call` carries it out.

        It is the same one until it is forgotten. It raises as `call` does.
        """
        words = tuple(tool.command(values, self.place))
        async with self._lock:
            if words not in self._offers:
                self._offers[words] = await self._price(tool, values)
            return self._offers[words]

    def forget(self, tool: Tool, values: Values) -> None:
        """Have the next call of a sync priced again."""
        self._offers.pop(tuple(tool.command(values, self.place)), None)

    def refusal(self, error: CommandError, spent: int = 0) -> str:
        """Return the answer to a call that was not carried out, after `spent` requests."""
        return self.answers.error({"requests": self._requests(spent), "error": error_record(error)})

    def _price_of(self, tool: Tool, values: Values) -> int:
        price = tool.price(values) * self.partners
        return price and price + self.sign_in

    async def _price(self, tool: Tool, values: Values) -> Offer:
        result, record = await self._run(tool, values, self._price_of(tool, values), "--dry-run")
        spent = record["requests"]["sent"]
        plan = {"hours": 0} if result.error else json.loads(result.output.read_bytes())
        if not plan["hours"]:
            answer, is_error = self._answer(tool, result, record)
            return Offer(0, 0, 0, spent, answer, is_error)
        result.output.unlink()
        offer = Offer(plan["hours"], plan["events"], plan["requests"], spent, "", is_error=False)
        try:
            self._allowed(offer.price, spent)
        except UsedUp as error:
            return offer._replace(answer=self.refusal(error, spent), is_error=True)
        return offer

    def _answer(self, tool: Tool, result: Result, record: dict[str, Any]) -> tuple[str, bool]:
        """Return the answer of a command, and whether it is an error."""
        try:
            if not result.error or not tool.has_rows:
                make = self.answers.rows if tool.has_rows else self.answers.report
                return make(result, record), result.error is not None
        except CommandError as error:
            record["error"] = error_record(error)
        finally:
            # It is gone if it is the answer.
            result.output.unlink(missing_ok=True)
        return self.answers.error(record), True

    async def _run(
        self, tool: Tool, values: Values, price: int, *options: str, spent: int = 0
    ) -> tuple[Result, dict[str, Any]]:
        """Run the command of a call, and return its result and the first facts of its answer."""
        # Of calls beside each other, nobody knows whose a request is.
        most = 0 if tool.is_light else self._allowed(price, spent)
        if tool.writes and not self.limits.exports:
            options = (*options, "--via=pages")
        words = [*self.options, *tool.command(values, self.place, *options)]
        before = self._used()
        output = self._new_file(tool)
        try:
            result = await run_command(
                words,
                meter=self.meter,
                most=before + most,
                output=output,
                seconds=math.inf if tool.writes else self.limits.seconds,
                stdin=values.get("sql", ""),
            )
        except BaseException:
            output.unlink()
            raise
        sent = 0 if tool.is_light else self._used() - before
        record: dict[str, Any] = {"requests": self._requests(sent + spent)}
        if result.error:
            record["error"] = result.error
        return result, record | {"notice": NOTICE}

    def _allowed(self, price: int, spent: int) -> int:
        """Return how many requests a call may send after those `spent`; UsedUp if too few."""
        rest = self.limits.session - self._used()
        most = min(self.limits.call - spent, rest)
        if price <= most:
            return max(most, 0)
        needs = f"This call needs {counted(price, 'request')}"
        # Which of the two limits stops the call decides who can help: the user, or fewer days.
        if rest < self.limits.call - spent:
            raise UsedUp(
                f"{needs}, but the session has {rest} of {self.limits.session} left.",
                remedy="Answer with the dataset, or have the user start a new session.",
            )
        raise UsedUp(
            f"{needs}, but may send {most}.",
            remedy="Ask for fewer days, or have the user give a larger --max-requests.",
        )

    def _used(self) -> int:
        """Return the requests of all calls, also of those that were cancelled."""
        self.meter.touch()
        return self.meter.stat().st_size

    def _requests(self, sent: int) -> dict[str, int]:
        return {"sent": sent, "left_in_session": self.limits.session - self._used()}

    def _new_file(self, tool: Tool) -> Path:
        suffix = ".jsonl" if tool.has_rows else ".json"
        with NamedTemporaryFile(
            prefix=f"{tool.name}-", suffix=suffix, dir=self.work, delete=False
        ) as file:
            return Path(file.name)
