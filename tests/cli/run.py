"""Run the command line in this process."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from click.testing import CliRunner, Result

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.main import cli

NOON = datetime(2026, 1, 20, 12, tzinfo=UTC)
Run = Callable[..., Result]


def run(*words: str, env: Mapping[str, str] | None = None, stdin: str = "") -> Result:
    """Run the command line; `today` is 2026-01-20."""
    invocation = Invocation(clock=lambda: NOON)
    return CliRunner().invoke(cli, list(words), env=env, input=stdin, obj=invocation)
