"""The embedded server is an extra: say how to install it instead of failing to import."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from adanalytics_cli.core.errors import MissingExtra

DEFAULT_DATA = Path("adanalytics-data")


@contextmanager
def server_extra() -> Iterator[None]:
    """Wrap the late imports of the server; raises MissingExtra when it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("adanalytics"):
            raise
        raise MissingExtra("server", needed_for="the embedded server") from error


def data_option(*, default: Path | None = DEFAULT_DATA, made: bool = False) -> click.Option:
    """`--data DIR`: the folder that a server works on; unless `made`, it must be there."""
    return click.Option(
        ["--data"],
        type=click.Path(path_type=Path, file_okay=False, exists=not made),
        metavar="DIR",
        default=default,
        show_default=True,
        help=f"Folder of the server's data{'; made when missing' if made else ''}.",
    )
