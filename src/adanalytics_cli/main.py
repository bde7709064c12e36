"""The root command: the catalogue of commands, the global options, the exit status."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

import click

from .console.streams import discard_stdout, drop_unwritable, prepare_streams
from .core.command import (
    COMPLETION_VARIABLE,
    CONNECTION_OPTIONS,
    OUTPUT_OPTIONS,
    CommandGroup,
    Entry,
)
from .core.errors import ExitCode, Terminated
from .core.invocation import Invocation

COMMANDS = {
    "dates": Entry("commands.dates", "List the days that have data.", "Data"),
    "summary": Entry("commands.summary", "Show metrics of a period, in total or by group.", "Data"),
    "events": Entry("commands.events", "Pull the events of a period.", "Data"),
    "reconcile": Entry(
        "commands.reconcile", "Compare another side's report with ours, and name the cause.", "Data"
    ),
    "plan": Entry("commands.plan", "Show what a pull costs in requests, bytes and time.", "Data"),
    "export": Entry("commands.export", "Download a period as one file from the service.", "Data"),
    "sync": Entry("commands.sync", "Keep a folder of events equal to the service.", "Dataset"),
    "verify": Entry(
        "commands.verify", "Check a dataset against its own records and the service.", "Dataset"
    ),
    "changes": Entry(
        "commands.changes", "List what a dataset held before days were restated.", "Dataset"
    ),
    "query": Entry(
        "commands.query", "Answer a question about a dataset in SQL; sends nothing.", "Dataset"
    ),
    "report": Entry(
        "commands.report", "Summarize a dataset by country, hour or any field.", "Dataset"
    ),
    "login": Entry(
        "commands.login", "Sign in and store the credential for later commands.", "Account"
    ),
    "logout": Entry("commands.login:logout", "Remove the stored credential.", "Account"),
    "status": Entry(
        "commands.status", "Show the settings, the sign-in and the remaining quota.", "Account"
    ),
    "demo": Entry("demo.command:demo", "Run the whole system on generated data.", "Local server"),
    "serve": Entry("server.serve", "Start the embedded server.", "Local server"),
    "server": Entry(
        "server.group:server", "Fill and manage the data folder of a server.", "Local server"
    ),
    "mcp": Entry("assistants.mcp", "Give an assistant these commands as tools.", "Assistant"),
    "skill": Entry("assistants.skill", "Print what an assistant needs to know.", "Assistant"),
    "doctor": Entry("commands.doctor", "Check the settings, this machine and the service.", "Help"),
    "completion": Entry("commands.completion", "Print the completion script for a shell.", "Help"),
    "help": Entry("commands.help:help_command", "Show the help of a command.", "Help"),
}

EXAMPLES = (
    "adanalytics demo",
    "adanalytics login",
    "adanalytics summary 2026-01 -g campaign",
    "adanalytics events yesterday -o yesterday.jsonl.gz",
    "adanalytics events yesterday --columns event_time,revenue --limit 10",
    "adanalytics export 2026-01 -o january.csv",
)


class Root(CommandGroup):
    """The top of the command tree; ends the process with the documented exit codes."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *_arguments: object,
        **extra: object,
    ) -> NoReturn:
        """Replace click's own ending, which turns Ctrl-C and a closed pipe into exit 1."""
        program = prog_name or "adanalytics"
        if instruction := os.environ.get(COMPLETION_VARIABLE):
            from click.shell_completion import shell_complete

            sys.exit(shell_complete(self, {}, program, COMPLETION_VARIABLE, instruction))
        words = list(sys.argv[1:] if args is None else args)
        parent = extra.get("obj")
        invocation = parent if isinstance(parent, Invocation) else Invocation()
        sys.exit(_run(self, words, program, invocation))


def _print_version(context: click.Context, _parameter: click.Parameter, is_wanted: bool) -> None:
    if not is_wanted:
        return
    from adanalytics_client import __version__

    click.echo(f"adanalytics {__version__}")
    context.exit()


cli = Root(
    "adanalytics",
    entries=COMMANDS,
    lines={"Local server": "Run the system or its server on this machine."},
    summary="Ad-analytics log-level events, summaries and bulk exports from the command line.",
    examples=EXAMPLES,
    details=(
        "An option overrides its environment variable, which overrides the profile in "
        "$XDG_CONFIG_HOME/adanalytics/config.toml. The credential is ADANALYTICS_API_KEY, or "
        "ADANALYTICS_EMAIL and ADANALYTICS_PASSWORD, else the one that adanalytics login stored in "
        "the keyring or a private file."
    ),
    params=[
        *CONNECTION_OPTIONS,
        *OUTPUT_OPTIONS,
        click.Option(
            ["-V", "--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_print_version,
            help="Show the version and exit.",
        ),
    ],
)


def _run(root: click.Command, words: Sequence[str], program: str, invocation: Invocation) -> int:
    """Parse and run `words` and return the exit status.

    Every failure ends here as one printed message; a traceback only appears with
    `--debug`. Output is flushed here, because a closed pipe may only show at the last write.
    """
    prepare_streams()
    code: int = ExitCode.DONE
    try:
        try:
            with root.make_context(program, list(words), obj=invocation) as context:
                root.invoke(context)
        except click.exceptions.Exit as leaving:
            code = leaving.exit_code
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return ExitCode.USAGE
    except BrokenPipeError:
        discard_stdout()
        return ExitCode.CLOSED_PIPE
    except (KeyboardInterrupt, click.Abort) as interrupt:
        # A closed terminal can show nothing.
        with suppress(OSError):
            click.echo("Interrupted.", err=True)
        terminated = isinstance(interrupt, Terminated)
        return ExitCode.TERMINATED if terminated else ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001  # whatever it is, the user gets one message
        from .failures import print_error

        code = print_error(error, invocation)
        drop_unwritable()
        return code
    return code
