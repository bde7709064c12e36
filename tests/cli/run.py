"""The type of the fixture `run`, which runs a command line in this process."""

from collections.abc import Callable

from click.testing import Result

Run = Callable[..., Result]
