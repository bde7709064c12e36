"""Pulls that need more requests than the quota has left."""

from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING

import click

from adanalytics_cli.console.prompts import can_ask
from adanalytics_cli.core.errors import UsedUp
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.settings import find_settings
from adanalytics_client import Observer
from adanalytics_client._base.quantities import counted
from adanalytics_client.observers import PullPlanned

if TYPE_CHECKING:
    from adanalytics_client import Client
    from adanalytics_client._progress.progress import Progress

_HOUR = timedelta(hours=1)


@dataclass
class QuotaCheck(Observer):
    """Compares a plan with the quota, before the requests of the plan are sent.

    A pull that does not fit is announced with its earliest end. One that is not `resumable` starts
    only with `--max-wait`, or when a person at the terminal says so: its requests would be lost if
    it stopped in the middle.
    """

    invocation: Invocation
    client: "Client"
    progress: "Progress"
    resumable: bool = False
    most: int | None = None
    remedy: str = ""
    accepted: bool = field(default=False, init=False)

    def plan(self, info: PullPlanned) -> None:
        """Check the requests still to send; raises UsedUp to send none of them."""
        self.check(info.requests)

    def check(self, requests: int) -> None:
        """Raise UsedUp if the pull has to wait for quota and may not."""
        requests, quota = min(requests, self.most or requests), self.client.quota
        seconds = quota.wait_for(requests)
        if not seconds or self.accepted:
            return
        now = self.invocation.clock()
        # A quota that is used up resumes within the first of the hours.
        end = (quota.resumes_at or now + _HOUR) + timedelta(seconds=seconds) - _HOUR
        needs = (
            f"This pull needs at least {counted(requests, 'request')}, but the quota has "
            f"{quota.remaining:,} left."
        )
        ends = f"With the waits it ends at {end:%Y-%m-%d %H:%M} UTC at the earliest."
        max_wait = find_settings(self.invocation).max_wait
        if max_wait is None and not self.resumable:
            self._ask(f"{needs} {ends}")
            return
        deadline = None if max_wait is None else now + timedelta(seconds=max_wait)
        if quota.resumes_at and deadline and quota.resumes_at > deadline:
            # The first request is refused, and its error says when to come back.
            return
        if deadline and not self.resumable and min(end, now + _HOUR) > deadline:
            raise UsedUp(
                f"{needs} A wait for more takes up to an hour; the longest wait allowed is "
                f"{max_wait:g} s.",
                remedy=self.remedy,
            )
        self.accepted = True
        self.invocation.notice(f"{needs} {ends}")

    def _ask(self, problem: str) -> None:
        """Ask whether to start; raises UsedUp for a no, and where nobody can answer."""
        if not can_ask():
            raise UsedUp(problem, remedy=f"To start it, add --max-wait 7200. {self.remedy}")
        # The question must not be overwritten by the progress line.
        self.progress.finish()
        self.invocation.notice(problem)
        if not click.confirm("Start it?", err=True):
            raise UsedUp("Not started.", remedy=self.remedy)
        self.accepted = True
        self.progress.start()


def how_to_go_on(invocation: Invocation, first: date, last: date, *, divided: bool) -> str:
    """Return the cheaper ways to pull a period; `divided` pulls have a query per day or hour."""
    sync = invocation.command_line("sync", *dict.fromkeys((str(first), str(last))), "--to", "DIR")
    resumable = f"To pull in parts that can be resumed: {sync}"
    return f"Fewer requests: --split auto. {resumable}" if divided else resumable
