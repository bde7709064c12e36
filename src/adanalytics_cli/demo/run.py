"""The steps of the demo: serve, pull, summarise, export, compare."""

import csv
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import click

from adanalytics_cli.console.progress import show_progress
from adanalytics_cli.console.terminal import look_at
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.prose import DEFAULT_WIDTH, lines_of
from adanalytics_cli.output.formats import TABLE, Output
from adanalytics_cli.output.row_output import write_rows
from adanalytics_cli.output.summary_output import Answer, View, list_rows
from adanalytics_cli.server.demo_data import (
    DAYS,
    EVENTS_PER_DAY,
    FIRST_DAY,
    LAST_DAY,
    PARTNER,
    DemoAccess,
    prepare_demo_data,
)
from adanalytics_client import Client, QuotaPolicy
from adanalytics_client._base.quantities import counted, in_bytes
from adanalytics_client._progress.progress import Progress

# Keeps a number and its unit on one line; printed as a plain space.
NO_BREAK = "\u00a0"
_LABEL = 9


class Story:
    """Prints the steps on stdout, in colours where stdout shows them."""

    def __init__(self, invocation: Invocation) -> None:
        self._color = look_at(sys.stdout, invocation.color).color

    def step(self, label: str, text: str) -> None:
        """Print a label and what was done, wrapped beside it."""
        title = f"{label:<{_LABEL}}"
        lines = "\n".join(lines_of(text, DEFAULT_WIDTH, title, " " * _LABEL))
        self._print(click.style(title, bold=True) + lines.removeprefix(title))

    def commands(self, label: str, lines: Sequence[str]) -> None:
        """Print lines to copy into a shell, never wrapped."""
        self._print("\n  ".join([f"\n{click.style(label, bold=True)}", *lines]))

    def _print(self, text: str) -> None:
        click.echo(text.replace(NO_BREAK, " "), color=self._color)


# As many as fit in 80 cells, also in a pipe.
_COLUMNS = 6


class Demo:
    """One run of the demo in `folder`, where the server's data and both files end up."""

    def __init__(
        self,
        folder: Path,
        invocation: Invocation,
        story: Story,
        events_per_day: int = EVENTS_PER_DAY,
    ) -> None:
        self.invocation = invocation
        self.story = story
        self.events_per_day = events_per_day
        self.data = folder / "server"
        # One day, as pulled by pages and as the bulk export gave it.
        self.events_file = folder / f"events-{FIRST_DAY}.jsonl"
        self.export_file = folder / f"export-{FIRST_DAY}.csv"

    def run(self) -> None:
        """Run every step and print it; raise CommandError if the numbers differ."""
        with self._serve() as (url, access):
            with self._client(url, access) as (client, progress):
                count = self._pull_events(client, progress)
            with self._client(url, access) as (client, progress):
                revenue = self._summarise(client, progress)
            with self._client(url, access) as (client, progress):
                self._bulk_export(client, progress)
        self._compare(count, revenue)

    @contextmanager
    def _serve(self) -> Iterator[tuple[str, DemoAccess]]:
        from adanalytics_server.admin import delete_user
        from adanalytics_server.local import LocalServer

        start = time.monotonic()
        access = prepare_demo_data(self.data, self.invocation, events=self.events_per_day)
        with LocalServer(partner=PARTNER, data=self.data) as server:
            self.story.step(
                "Server",
                f"{server.url} has {DAYS * self.events_per_day:,} generated events for "
                f"{FIRST_DAY} and {LAST_DAY} ({_taken(time.monotonic() - start)})",
            )
            yield server.url, access
        # Its password is the same everywhere, so the account must not stay in a kept folder.
        delete_user(self.data, server.email)

    @contextmanager
    def _client(self, url: str, access: DemoAccess) -> Iterator[tuple[Client, Progress]]:
        with (
            show_progress(self.invocation, live=True) as progress,
            Client(
                url,
                partner=PARTNER,
                api_key=access.api_key,
                observer=progress,
                quota=QuotaPolicy(log="memory"),
            ) as client,
        ):
            progress.quota_left = lambda: client.quota.remaining
            yield client, progress

    def _pull_events(self, client: Client, progress: Progress) -> int:
        query = client.events(FIRST_DAY)
        progress.expect(query.plan.least_requests)
        count = query.write(self.events_file)
        progress.finish()
        self.story.step(
            "Events",
            f"{FIRST_DAY}: {count:,} events in {progress.requests} requests (24 hours, "
            "and the count that confirms them), "
            f"{in_bytes(self.events_file.stat().st_size)} of JSON lines "
            f"({_taken(progress.seconds())})",
        )
        return count

    def _summarise(self, client: Client, progress: Progress) -> Decimal:
        by_campaign = client.summary(FIRST_DAY, group_by="campaign")
        progress.finish()
        self.story.step(
            "Summary", f"the same day by campaign, 1 request ({_taken(progress.seconds())}):"
        )
        click.echo()
        answer = Answer(PARTNER, by_campaign, FIRST_DAY, FIRST_DAY, "UTC")
        listing = list_rows([answer], View("campaign"), TABLE)
        listing = replace(listing, columns=listing.columns[:_COLUMNS])
        write_rows(listing, Output(TABLE), self.invocation)
        click.echo()
        return sum((row["revenue"] for row in by_campaign.rows), Decimal(0))

    def _bulk_export(self, client: Client, progress: Progress) -> None:
        job = client.start_export(FIRST_DAY, format="csv")
        job.wait()
        job.download(self.export_file)
        progress.finish()
        self.story.step(
            "Export",
            f"the same day as csv, {in_bytes(self.export_file.stat().st_size)}, "
            f"{progress.requests} requests ({_taken(progress.seconds())})",
        )

    def _compare(self, count: int, revenue: Decimal) -> None:
        """Compare the export with the number of events in pages and the revenue of the summary."""
        events, earnings = 0, Decimal(0)
        with self.export_file.open(encoding="utf-8", newline="") as text:
            for row in csv.DictReader(text):
                events += 1
                earnings += Decimal(row["revenue"]) if row["is_filtered"] == "false" else 0
        if (events, earnings) != (count, revenue):
            raise CommandError(
                f"The pages have {counted(count, 'event')}, and the summary a revenue of "
                f"{revenue:f}; the export has {events:,} with {earnings:f}.",
                remedy="Run it again with --keep DIR and compare the files there.",
            )
        self.story.step(
            "Check",
            f"the export has the same {events:,} events, and without filtered traffic they "
            f"sum up to the revenue of the summary, {earnings:f}",
        )


def _taken(seconds: float) -> str:
    return f"{seconds:.1f}{NO_BREAK}s"
