"""Where this user's settings and state are kept, after the XDG base directory specification."""

from collections.abc import Mapping
from pathlib import Path


def settings_folder(environment: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME/adanalytics`, by default below `~/.config`; it need not exist."""
    return _base(environment, "XDG_CONFIG_HOME", ".config") / "adanalytics"


def state_folder(environment: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/adanalytics`, by default below `~/.local/state`; it need not exist."""
    return _base(environment, "XDG_STATE_HOME", ".local/state") / "adanalytics"


def _base(environment: Mapping[str, str], variable: str, default: str) -> Path:
    """The folder that `variable` names; a relative one is ignored, as the specification asks."""
    configured = Path(environment.get(variable, ""))
    return configured if configured.is_absolute() else Path.home() / default
