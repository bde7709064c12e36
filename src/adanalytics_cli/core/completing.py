"""Answer the shell that asks what may follow the words on its line."""

import os

import click

# The script of `adanalytics completion` asks for completions through this variable.
VARIABLE = "_ADANALYTICS_COMPLETE"


def answer_shell(root: click.Command, program: str, instruction: str) -> int:
    """Print the completions and give the exit status."""
    from click.shell_completion import shell_complete

    return shell_complete(root, {}, program, VARIABLE, instruction)


def profile_names(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[str]:
    """The profiles of the settings file; none when it cannot be read."""
    from adanalytics_cli.core.errors import SettingsError
    from adanalytics_cli.core.profiles import read_profiles, settings_file

    try:
        tables = read_profiles(settings_file(os.environ)).tables
    except SettingsError:
        return []
    return [name for name in tables if name.startswith(incomplete)]
