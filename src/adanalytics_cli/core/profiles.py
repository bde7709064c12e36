"""Named settings in `$XDG_CONFIG_HOME/adanalytics/config.toml`; never a secret among them."""

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from adanalytics_cli.core.errors import SettingsError
from adanalytics_cli.core.folders import settings_folder

DEFAULT_PROFILE = "default"
_SECRET_KEYS = frozenset({"api_key", "password", "token"})


@dataclass(frozen=True, slots=True)
class Profile:
    """One `[profile.NAME]` table; every key may be left out.

    ```toml
    [profile.default]
    base_url = "https://stats.example"
    partner = "acme"
    email = "ada@example.org"
    ```
    """

    base_url: str | None = None
    partner: str | None = None
    email: str | None = None


def settings_file(environment: Mapping[str, str]) -> Path:
    """Path of the settings file, which need not exist."""
    return settings_folder(environment) / "config.toml"


@dataclass(frozen=True, slots=True)
class Profiles:
    """The tables of one settings file, each looked at when it is asked for."""

    path: Path
    tables: Mapping[str, object]

    def find(self, name: str | None, *, may_be_new: bool = False) -> Profile:
        """The profile `name`, or `default` where none is asked for.

        Only a profile that was asked for has to exist. Raises SettingsError for one that does
        not, an unknown key, and a secret: `login` keeps secrets.
        """
        table = self.tables.get(name or DEFAULT_PROFILE)
        if table is not None:
            return _read_profile(table, f"[profile.{name or DEFAULT_PROFILE}] in {self.path}")
        if name is None or may_be_new:
            return Profile()
        known = ", ".join(sorted(self.tables)) or "none"
        raise SettingsError(
            f"no profile '{name}' in {self.path} (there: {known})",
            remedy=f"Make it: adanalytics login --profile {shlex.quote(name)}",
        )


def read_profiles(path: Path) -> Profiles:
    """Read the settings file; none at all is one without profiles.

    Raises SettingsError for a file that is not TOML or has no tables of profiles.
    """
    return Profiles(path, _profile_tables(path))


def _profile_tables(path: Path) -> Mapping[str, object]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"cannot read {path}: {error}", remedy="Mend the file.") from error
    tables = document.get("profile", {})
    if not isinstance(tables, dict):
        raise SettingsError(
            f"'profile' in {path} is not a table",
            remedy=f"Write [profile.{DEFAULT_PROFILE}] with base_url and partner below it.",
        )
    return tables


def _read_profile(table: object, where: str) -> Profile:
    known = [field.name for field in fields(Profile)]
    if not isinstance(table, dict):
        raise SettingsError(f"{where} is not a table", remedy=f"Its keys are {', '.join(known)}.")
    if secret := sorted(_SECRET_KEYS & table.keys()):
        raise SettingsError(
            f"{where} holds a secret ({secret[0]})",
            remedy="Remove it and sign in with adanalytics login, which keeps secrets safely.",
        )
    for key, value in table.items():
        if key not in known:
            raise SettingsError(
                f"{where} has an unknown key '{key}'", remedy=f"Its keys are {', '.join(known)}."
            )
        if not isinstance(value, str):
            raise SettingsError(f"{where}: {key} is not a string", remedy="Put it in quotes.")
    return Profile(**table)
