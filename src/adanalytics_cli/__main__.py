"""Entry point of the console script and of `python -m adanalytics_cli`."""

from adanalytics_cli.root import cli


def main() -> None:
    """Run the command line with `sys.argv` and leave the process with its exit code."""
    cli.main(prog_name="adanalytics")


if __name__ == "__main__":
    main()
