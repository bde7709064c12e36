"""The profiles in the settings file: which service and whose data, without secrets."""

import re
import shlex
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from adanalytics_client._base.files import user_folder
from adanalytics_client._shapes.service import ServiceProfile
from adanalytics_client.errors import ConfigurationError

DEFAULT_PROFILE = "default"
# How tomllib begins its words about a name that is there twice.
_REPETITION = ("Cannot overwrite", "Cannot declare", "Duplicate")
_SECRET_KEYS = frozenset({"api_key", "password", "token"})


@dataclass(frozen=True, slots=True)
class Profile:
    """One `[profile.NAME]` table; every key may be left out.

    `max_wait` is in seconds, `rate_limit` in requests per hour; a limit of 0 is none.

    The service's profile is the table `[profile.NAME.service]`, or a file: the key `service` then
    has its path, from the folder of the settings file on.
    """

    base_url: str | None = None
    partner: str | None = None
    email: str | None = None
    max_wait: float | None = None
    rate_limit: int = 1000
    service: ServiceProfile = field(default_factory=ServiceProfile)


def settings_file(environment: Mapping[str, str]) -> Path:
    """Return `$XDG_CONFIG_HOME/adanalytics/config.toml`, by default below `~/.config`.

    It need not exist.
    """
    return user_folder(environment, "XDG_CONFIG_HOME", ".config") / "config.toml"


class Profiles(NamedTuple):
    """The tables of one settings file; each is checked when it is used."""

    path: Path
    tables: Mapping[str, object]

    def find(self, name: str | None, *, may_be_new: bool = False) -> Profile:
        """Return the profile `name`, or `default` where none is asked for.

        Only a profile that was named must exist. Raises ConfigurationError for one that does not,
        for an unknown key, and for a secret, since `login` keeps secrets.
        """
        table = self.tables.get(name or DEFAULT_PROFILE)
        if table is not None:
            place = f"[profile.{name or DEFAULT_PROFILE}] in {self.path}"
            content = {**_content_of(table, place)}
            if "service" in content:
                # Relative to the settings, so that both can move together.
                file = self.service_file(name)
                content["service"] = _read_service(file or content["service"], place)
            return Profile(**content)
        # Without a name, no profile is needed: the environment may have everything.
        if name is None or may_be_new:
            return Profile()
        names = ", ".join(sorted(self.tables)) or "none"
        raise ConfigurationError(
            f"Unknown profile '{name}' in {self.path}. Known profiles: {names}.",
            remedy=f"Add it: {login_command(name)}",
        )

    def service_file(self, name: str | None) -> Path | None:
        """Return the file with the service's profile, if the profile `name` has one."""
        table = self.tables.get(name or DEFAULT_PROFILE)
        service = table.get("service") if isinstance(table, dict) else None
        return self.path.parent / service if isinstance(service, str) else None


def login_command(profile: str) -> str:
    """Return the command that signs in to a profile."""
    option = "" if profile == DEFAULT_PROFILE else f" --profile {shlex.quote(profile)}"
    return f"adanalytics login{option}"


def read_settings(path: Path) -> str:
    """Return the text of the settings file, with its line ends, without a byte order mark.

    Raises:
        ConfigurationError: when it is not UTF-8.
        OSError: when it cannot be read.
    """
    content = path.read_bytes()
    with suppress(UnicodeDecodeError):
        text = content.decode("utf-8-sig")
        # UTF-16 without a byte order mark may be UTF-8 with many a NUL.
        if "\0" not in text:
            return text
    raise ConfigurationError(
        f"{path} is not a text file in UTF-8.", remedy="Save it as UTF-8 in the editor."
    )


def read_profiles(path: Path) -> Profiles:
    """Read the settings file; a missing file has no profiles.

    Raises ConfigurationError for a file that is not TOML or holds anything but tables of profiles.
    """
    try:
        text = read_settings(path)
        document = tomllib.loads(text)
    # A folder of settings may be /dev/null, for none.
    except (FileNotFoundError, NotADirectoryError):
        return Profiles(path, {})
    except (OSError, tomllib.TOMLDecodeError) as error:
        is_repeated = str(error).startswith(_REPETITION)
        remedy = "A name is there twice: keep one of them." if is_repeated else "Correct the file."
        raise ConfigurationError(f"Cannot read {path}: {error}.", remedy=remedy) from error
    for name in [key for key in document if key != "profile"]:
        match = re.search(rf"""(?m)^\s*\[?\s*["']?{re.escape(name)}""", text)
        line = text.count("\n", 0, match.end()) + 1 if match else 1
        problem, remedy = (
            f"{name} is outside a profile",
            f"Move it below [profile.{DEFAULT_PROFILE}].",
        )
        if isinstance(document[name], dict):
            problem, remedy = f"[{name}] is no profile", f"Write [profile.{name}]."
        raise ConfigurationError(f"{path}, line {line}: {problem}.", remedy=remedy)
    tables = document.get("profile", {})
    if not isinstance(tables, dict):
        raise ConfigurationError(
            f"'profile' in {path} is not a table.",
            remedy=f"Write [profile.{DEFAULT_PROFILE}] with base_url and partner below it.",
        )
    return Profiles(path, tables)


def _read_service(service: object, place: str) -> ServiceProfile:
    """Read the service's profile from its file or its table."""
    if isinstance(service, Path):
        return ServiceProfile.read(service)
    place = place.replace("]", ".service]", 1)
    if not isinstance(service, dict):
        raise ConfigurationError(
            f"{place} is neither a table nor the path of a file.",
            remedy='Write service = "service.toml".',
        )
    _refuse_secrets(service, place)
    # Late, because few profiles have one.
    from adanalytics_client._shapes.service_file import service_of

    return service_of(service, place)


def _refuse_secrets(table: Mapping[str, object], place: str) -> None:
    if secret := sorted(_SECRET_KEYS & table.keys()):
        raise ConfigurationError(
            f"{place} holds a secret ({secret[0]}).",
            remedy="Remove it and run adanalytics login, which keeps secrets safely.",
        )


_Kind = tuple[tuple[type, ...], str, str]
_TEXT: _Kind = ((str,), "a string", "Put it in quotes.")
_KINDS: Mapping[str, _Kind] = {
    "max_wait": ((int, float), "a number", "Write it in seconds."),
    "rate_limit": ((int,), "a whole number", "Write the requests per hour; 0 is no limit."),
}


def _content_of(table: object, place: str) -> Mapping[str, Any]:
    """Return the content of the table of a profile; partners become one text."""
    names = [member.name for member in fields(Profile)]
    if not isinstance(table, dict):
        raise ConfigurationError(
            f"{place} is not a table.", remedy=f"Known keys: {', '.join(names)}."
        )
    # Before the unknown keys, so that a password in the file is not called a typing mistake.
    _refuse_secrets(table, place)
    for key, value in table.items():
        if key not in names:
            raise ConfigurationError(
                f"{place} has an unknown key '{key}'.", remedy=f"Known keys: {', '.join(names)}."
            )
        if key == "service":
            continue
        kinds, noun, remedy = _KINDS.get(key, _TEXT)
        is_list = key == "partner" and isinstance(value, list)
        if any(type(entry) not in kinds for entry in (value if is_list else [value])):
            raise ConfigurationError(f"{place}: {key} is not {noun}.", remedy=remedy)
        if is_list:
            table = {**table, key: ",".join(value)}
    return table
