"""One run from the words of the line to the exit status, whatever happens on the way."""

import sys
from collections.abc import Sequence

import click

from adanalytics_cli.console.streams import drop_unwritable, give_up_stdout, prepare_streams
from adanalytics_cli.core.exit_codes import ExitCode
from adanalytics_cli.core.invocation import Invocation


def run(root: click.Command, words: Sequence[str], program: str, *, invocation: Invocation) -> int:
    """Parse and run `words` and return the exit status.

    Every failure ends here as one printed message; a traceback only appears with
    `--debug`. Output is flushed inside, because a pipe that was closed by its reader
    shows itself at the last write at the latest.
    """
    prepare_streams()
    try:
        with root.make_context(program, list(words), obj=invocation) as context:
            root.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return _flushed(leaving.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return ExitCode.USAGE
    except BrokenPipeError:
        give_up_stdout()
        return ExitCode.CLOSED_PIPE
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001  # whatever it is, the user gets one message
        from adanalytics_cli.console.error_report import print_error

        code = print_error(error, invocation)
        drop_unwritable()
        return code
    return ExitCode.DONE


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        give_up_stdout()
        return ExitCode.CLOSED_PIPE
    return code
