"""Open the client of a command, with the progress and the budget of the run as observers."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.periods import span
from adanalytics_cli.core.settings import (
    ServiceSettings,
    base_url_of,
    find_settings,
    partner_of,
    partners_of,
)
from adanalytics_client._base.quantities import counted, in_bytes

from .credential import Credential, find_credential

if TYPE_CHECKING:
    from adanalytics_client import Client, Observer
    from adanalytics_client._progress.progress import Progress


Answer = TypeVar("Answer")


@contextmanager
def connect_each(
    invocation: Invocation, *, chart: bool
) -> Iterator[tuple[dict[str, "Client"], "Progress"]]:
    """Open a client for each partner that is configured; they share connections and quota.

    Raises as `connect`, and click.UsageError for a `chart` of several partners.
    """
    settings = find_settings(invocation)
    base_url_of(settings)
    partners = partners_of(settings)
    if chart and len(partners) > 1:
        raise click.UsageError("--chart draws one partner. Name one with --partner.")
    with connect(invocation, settings, partners[0]) as (client, progress):
        yield {partner: client.for_partner(partner) for partner in partners}, progress


def ask_each(
    clients: Mapping[str, "Client"], ask: Callable[["Client"], Answer]
) -> dict[str, Answer]:
    """Return the answer for each partner; an error names its partner where there are several."""
    from adanalytics_client import AdAnalyticsError

    answers = {}
    for partner, client in clients.items():
        try:
            answers[partner] = ask(client)
        except AdAnalyticsError as error:
            # With one partner, its name would only lengthen the message.
            if len(clients) > 1:
                error.amended(message=f"{partner}: {error.message}")
            raise
    return answers


def report_end(
    invocation: Invocation,
    summary: str,
    progress: "Progress | None",
    *,
    days: tuple[date, date] | None = None,
    target: Path | str | None = None,
    size: int | None = None,
) -> None:
    """Print the closing line of a run: what was done, on which days, at what cost, and where.

    A line is like `600 events of 2026-01-15, 382 kB, 1 request, 0.4 s -> events.csv`. The `days`
    show which ones a word such as `-7d` meant. The `size` is by default that of a `target` file.
    A run without `progress` sent nothing.
    """
    days_text, target_text = f" of {span(*days)}" if days else "", f" -> {target}" if target else ""
    # What is on the disk, compressed or not, is what the reader will find.
    if size is None and isinstance(target, Path) and target.is_file():
        size = target.stat().st_size
    size_text = "" if size is None else f", {in_bytes(size)}"
    cost = ""
    if progress:
        cost = f", {counted(progress.requests, 'request')}, {progress.seconds():.1f} s"
    invocation.notice(f"{summary}{days_text}{size_text}{cost}{target_text}")


@contextmanager
def connect(
    invocation: Invocation,
    settings: ServiceSettings | None = None,
    partner: str = "",
    credential: Credential | None = None,
    *,
    live: bool = True,
    waits: bool = True,
    budget: "Observer | None" = None,
) -> Iterator[tuple["Client", "Progress"]]:
    """Open a client for the service that is configured, and its progress.

    Without `live` no line is redrawn, because the data may go to the same terminal. Without
    `waits` a used-up quota is an error at once, as with `--max-wait 0`. `budget` may stop the run.
    Raises SettingsError and NoCredential before anything is sent.
    """
    settings = settings or find_settings(invocation)
    base_url = base_url_of(settings)
    partner = partner or partner_of(settings)
    credential = credential or find_credential(settings, invocation)
    from adanalytics_cli.console.progress import show_progress
    from adanalytics_client import Client, QuotaPolicy
    from adanalytics_client._progress.progress import joined

    max_wait = settings.max_wait if waits else 0
    quota = QuotaPolicy(
        limit=settings.rate_limit or None, on_limit="raise" if max_wait == 0 else "wait"
    )
    if max_wait is not None:
        quota = replace(quota, max_wait=max_wait)
    with (
        show_progress(invocation, live=live) as progress,
        Client(
            base_url,
            partner=partner,
            api_key=credential.of_kind("api_key"),
            token=credential.of_kind("token"),
            email=credential.email if credential.kind == "password" else None,
            password=credential.of_kind("password"),
            quota=quota,
            service=settings.service,
            observer=joined(*invocation.observers, *([budget] if budget else []), progress),
        ) as client,
    ):
        progress.quota_left = lambda: client.quota.remaining
        try:
            yield client, progress
        finally:
            # The line asks for the quota, which a closed client does not have.
            progress.finish()
