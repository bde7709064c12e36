"""What the exit status of the process means; scripts depend on these numbers."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit status of `adanalytics`.

    130, 141 and 143 are what a shell reports for a program that SIGINT (128 + 2),
    SIGPIPE (128 + 13) or SIGTERM (128 + 15) ended, so that pipelines and `set -e`
    scripts see the usual numbers.
    """

    DONE = 0
    FAILED = 1
    USAGE = 2
    PARTLY_DONE = 3
    NOT_SIGNED_IN = 4
    USED_UP = 5
    UNREACHABLE = 6
    DAMAGED = 7
    INTERRUPTED = 130
    CLOSED_PIPE = 141
    TERMINATED = 143
