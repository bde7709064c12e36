"""`adanalytics skill`: what an assistant needs to know of these commands, as a file for it."""

import shlex
from importlib.resources import files
from pathlib import Path

import click

from adanalytics_cli.core.command import command, option
from adanalytics_cli.core.errors import CommandError, remedy_of
from adanalytics_cli.core.files import replacing
from adanalytics_cli.core.invocation import Invocation
from adanalytics_client._base.files import make_folder


@command(
    "skill",
    params=[
        option(
            "--install folder",
            click.Path(path_type=Path),
            "DIR",
            "Write it to DIR/adanalytics/SKILL.md, where assistants look for their skills.",
        )
    ],
    details=(
        "Prints Markdown: when to use which command, prices, exit statuses, questions in SQL, and "
        "what never to do. A file that differs is never replaced."
    ),
    examples=[
        "adanalytics skill",
        "adanalytics skill --install ~/.claude/skills",
        "adanalytics skill --install .agents/skills",
    ],
)
def skill(invocation: Invocation, folder: Path | None) -> None:
    """Print the skill, or install it."""
    text = files("adanalytics_cli.assistants").joinpath("skill.md").read_text("utf-8")
    if folder is None:
        click.echo(text, nl=False)
        return
    # The folder has the name of the skill: https://agentskills.io/specification
    path = folder / "adanalytics" / "SKILL.md"
    try:
        before = path.read_text("utf-8", errors="replace")
    except FileNotFoundError:
        before = None
    except OSError as error:
        raise CommandError(
            f"Cannot read {path}: {error.strerror}.", remedy=remedy_of(error)
        ) from error
    if before == text:
        invocation.notice(f"{path} is up to date.")
        return
    if before is not None:
        raise CommandError(
            f"{path} differs from the skill of this version, and may have been edited.",
            remedy=f"Remove it, then install again: rm -- {shlex.quote(str(path))}",
        )
    try:
        make_folder(path.parent)
    except OSError as error:
        raise CommandError(
            f"Cannot make {path.parent}: {error.strerror}.", remedy=remedy_of(error)
        ) from error
    with replacing(path) as stream:
        stream.write(text.encode())
    invocation.notice(f"Installed {path}")
