"""Open the client that a command works with, watched by the progress of the run."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from adanalytics_cli.invocation import current_invocation
from adanalytics_cli.settings import resolve_settings

if TYPE_CHECKING:
    from adanalytics_cli.progress import Progress
    from adanalytics_client import Client


@contextmanager
def connect(context: click.Context, *, live: bool = True) -> Iterator[tuple["Client", "Progress"]]:
    """A client for the service that option, environment or profile name, and its progress.

    Without `live` no line is redrawn, because the data themselves go to the terminal.
    Raises SettingsError and NoCredential before anything is sent.
    """
    invocation = current_invocation(context)
    settings = resolve_settings(invocation, os.environ)

    from adanalytics_cli.progress import show_progress
    from adanalytics_client import Client

    with (
        show_progress(invocation, live=live) as progress,
        Client(
            settings.base_url,
            partner=settings.partner,
            api_key=settings.api_key,
            email=settings.email,
            password=settings.password,
            observer=progress,
        ) as client,
    ):
        progress.quota_left = lambda: client.quota.remaining
        yield client, progress
