"""`adanalytics --version`, which comes before everything that takes time to import."""

import sys

from adanalytics_cli.console.streams import give_up_stdout, prepare_streams
from adanalytics_client import __version__

CLOSED_PIPE = 141


def version_line() -> str:
    """Name and version."""
    return f"adanalytics {__version__}"


def show_version() -> int:
    """Print the version and give the exit status."""
    prepare_streams()
    try:
        sys.stdout.write(f"{version_line()}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        give_up_stdout()
        return CLOSED_PIPE
    except OSError as error:
        sys.stderr.write(f"Error: {error.strerror}\n")
        give_up_stdout()
        return 1
    return 0
