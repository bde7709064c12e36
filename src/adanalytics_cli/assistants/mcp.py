"""`adanalytics mcp`: the commands as tools of an assistant, with limits of requests."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from adanalytics_cli.account.credential import in_environment, secrets_here
from adanalytics_cli.account.dataset_here import default_dataset
from adanalytics_cli.core.command import command, flag, option
from adanalytics_cli.core.errors import MissingExtra
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.numbers import WholeNumber
from adanalytics_cli.core.settings import find_settings
from adanalytics_client._base.files import state_folder

SECONDS = 120
"""The most that a call takes besides the waits that the user allows."""


@command(
    "mcp",
    params=[
        option(
            "--in location",
            click.Path(),
            "DIR|URL",
            "The dataset to read and sync; by default this folder, or events in it.",
        ),
        option(
            "--folder",
            click.Path(path_type=Path),
            "DIR",
            "Where answers go that are too large; by default a folder for this user's state.",
        ),
        option("--max-requests", WholeNumber(min=0), "N", "Send at most N requests a call.", 30),
        option("--max-session", WholeNumber(min=0), "N", "Send at most N requests in all.", 100),
        flag("--exports", "Let a sync order bulk exports, too, and not only pull pages."),
    ],
    details=(
        "Serves one assistant by the Model Context Protocol over stdin and stdout, until stdin is "
        "closed. Its tools are status, dates, summary, plan, query, report, verify and sync. A "
        "call that needs more requests than it may send is refused before the first one. An answer "
        "has at most 200 rows and 8 KB; a larger one is a file, of which the first ten rows are "
        "shown. Never waits for quota unless --max-wait is given."
    ),
    examples=[
        "adanalytics mcp --in ~/events",
        "adanalytics mcp --profile night --max-requests 10 --max-session 50",
        "adanalytics mcp --in s3://bucket/events --folder ~/answers",
    ],
    connects=True,
)
def mcp(
    invocation: Invocation,
    location: str | None,
    folder: Path | None,
    max_requests: int,
    max_session: int,
    exports: bool,
) -> None:
    """Serve the tools until the assistant has closed stdin."""
    MissingExtra.check("mcp", "mcp", needed_for="adanalytics mcp")
    from .answers import Answers
    from .server import serve
    from .session import Limits, Session

    settings = find_settings(invocation)
    # An assistant that waits for an hour looks as if it hung.
    max_wait = 0 if invocation.max_wait is None else invocation.max_wait
    partners = settings.partner.value.count(",") + 1 if settings.partner else 1
    credential = in_environment(settings)
    if sys.stdin.isatty():
        invocation.notice(
            "An assistant starts this command and speaks to its stdin. Ctrl-D ends it."
        )
    with TemporaryDirectory(prefix="adanalytics-") as work:
        serve(
            Session(
                options=[*invocation.connection_words(), f"--max-wait={max_wait:g}"],
                partners=partners,
                sign_in=int(credential is not None and credential.kind == "password"),
                place=location or default_dataset(),
                work=Path(work),
                limits=Limits(max_requests, max_session, exports, SECONDS + max_wait),
                answers=Answers(
                    lambda: secrets_here(settings),
                    (folder or state_folder(os.environ) / "answers").absolute(),
                ),
            )
        )
