"""Entry point of the console script and of `python -m adanalytics_cli`."""

import os
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line with `sys.argv` and leave the process with its exit code."""
    try:
        _run()
    except KeyboardInterrupt:
        # While modules were still being imported; a run that has begun says it by itself.
        if sys.stderr is not None:
            sys.stderr.write("Interrupted.\n")
        sys.exit(INTERRUPTED)


def _run() -> None:
    if sys.argv[1:] == ["--version"]:
        # Half of the time of a start is click, and nobody needs it to read a version.
        from adanalytics_cli.version import show_version

        sys.exit(show_version())
    # numpy comes with pyarrow, and would start threads that nothing here has work for.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from adanalytics_cli.core.termination import leave_on_sigterm
    from adanalytics_cli.main import cli

    leave_on_sigterm()
    cli.main(prog_name="adanalytics")


if __name__ == "__main__":
    main()
