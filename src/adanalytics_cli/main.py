"""The program itself: its commands, the options of a run, and its version."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from adanalytics_cli.core.catalogue import Entry, LazyGroup
from adanalytics_cli.core.completing import VARIABLE, answer_shell
from adanalytics_cli.core.invocation import Invocation, connection_options, output_options
from adanalytics_cli.process import run

COMMANDS = {
    "demo": Entry("adanalytics_cli.commands.demo:demo", "Run the whole system on generated data."),
    "login": Entry(
        "adanalytics_cli.commands.login:login",
        "Sign in, and keep the credential for the commands that follow.",
    ),
    "logout": Entry(
        "adanalytics_cli.commands.logout:logout", "Forget the credential that login stored."
    ),
    "status": Entry(
        "adanalytics_cli.commands.status:status",
        "Who is signed in, where, until when, and what is left of the quota.",
    ),
    "dates": Entry("adanalytics_cli.commands.dates:dates", "List the days that have data."),
    "summary": Entry(
        "adanalytics_cli.commands.summary:summary", "Metrics of a period, in total or by group."
    ),
    "events": Entry("adanalytics_cli.commands.events:events", "Pull the events of a period."),
    "plan": Entry(
        "adanalytics_cli.commands.plan:plan", "Say what pulling a period will cost, before it does."
    ),
    "export": Entry(
        "adanalytics_cli.commands.export:export", "Have the service write a period to one file."
    ),
    "sync": Entry(
        "adanalytics_cli.commands.sync:sync", "Keep a folder of hourly files equal to the service."
    ),
    "verify": Entry(
        "adanalytics_cli.commands.verify:verify",
        "See that a dataset is whole and says what the service says.",
    ),
    "doctor": Entry(
        "adanalytics_cli.commands.doctor:doctor",
        "Look at everything that a pull depends on, and say what to do.",
    ),
    "completion": Entry(
        "adanalytics_cli.commands.completion:completion",
        "Print the script that completes commands in a shell.",
    ),
    "serve": Entry("adanalytics_cli.server.serve:serve", "Start the embedded server."),
    "server": Entry(
        "adanalytics_cli.server.group:server", "Fill and manage a server's data folder."
    ),
}

EXAMPLES = (
    "adanalytics demo",
    "adanalytics login",
    "adanalytics summary 2026-01 -g campaign",
    "adanalytics events yesterday -o yesterday.jsonl.gz",
    "adanalytics events -7d today --columns event_time,revenue | head",
    "adanalytics export 2026-01 -o january.csv",
)


class Root(LazyGroup):
    """The top of the command tree; ends the process with the documented exit codes."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *_others: object,
        **extra: object,
    ) -> NoReturn:
        """Replace click's own ending, which turns Ctrl-C and a closed pipe into exit 1."""
        if instruction := os.environ.get(VARIABLE):
            sys.exit(answer_shell(self, prog_name or "adanalytics", instruction))
        words = list(sys.argv[1:] if args is None else args)
        given = extra.get("obj")
        invocation = given if isinstance(given, Invocation) else Invocation()
        sys.exit(run(self, words, prog_name or "adanalytics", invocation=invocation))


def _print_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from adanalytics_cli.version import version_line

    click.echo(version_line())
    context.exit()


cli = Root(
    "adanalytics",
    entries=COMMANDS,
    summary="Ad-analytics log-level events, summaries and bulk exports from the command line.",
    examples=EXAMPLES,
    details=(
        "The service, the partner and the credential come from options, else from "
        "ADANALYTICS_BASE_URL, _PARTNER and _API_KEY (or _EMAIL and _PASSWORD) in the "
        "environment, else from what adanalytics login stored: a profile in "
        "$XDG_CONFIG_HOME/adanalytics/config.toml, the secret in the keyring or a private file."
    ),
    params=[
        *connection_options(hidden=False),
        *output_options(hidden=False),
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_print_version,
            help="Show the version and leave.",
        ),
    ],
)
