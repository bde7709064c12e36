"""`adanalytics completion`: the script that lets a shell complete commands and options."""

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from adanalytics_cli.core.command import COMPLETION_VARIABLE, command
from adanalytics_cli.core.invocation import Invocation

# Click's script for fish ends a description, or a list of columns, at its first comma.
_WHOLE_LINES = ('string split "," $completion', 'string split --max 1 "," $completion')

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@command(
    "completion",
    params=[click.Argument(["shell"], type=click.Choice(SHELLS))],
    details="Add the line for your shell to its start-up file.",
    examples=[
        'eval "$(adanalytics completion bash)"      # in ~/.bashrc; bash 4.4 or newer',
        'eval "$(adanalytics completion zsh)"       # in ~/.zshrc, after compinit',
        "adanalytics completion fish | source       # in ~/.config/fish/config.fish",
    ],
)
def completion(_invocation: Invocation, shell: str) -> None:
    root = click.get_current_context().find_root().command
    shell_completion = SHELLS[shell](root, {}, "adanalytics", COMPLETION_VARIABLE)
    # Not source(), which runs bash to check its version and may complain on stderr.
    template = shell_completion.source_template.replace(*_WHOLE_LINES)
    click.echo(template % shell_completion.source_vars())
