"""Which service and whose data: option, environment, profile, and where each was found."""

import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from adanalytics_cli.core.errors import SettingsError
from adanalytics_cli.core.files import replacing
from adanalytics_cli.core.invocation import Invocation
from adanalytics_client import ConfigurationError
from adanalytics_client._base.files import make_folder, user_folder
from adanalytics_client._base.urls import BaseUrl

DEFAULT_PROFILE = "default"
# How tomllib begins its words about a name that is there twice.
_TWICE = ("Cannot overwrite", "Cannot declare", "Duplicate")
_SECRET_KEYS = frozenset({"api_key", "password", "token"})


@dataclass(frozen=True, slots=True)
class Profile:
    """One `[profile.NAME]` table; every key may be left out."""

    base_url: str | None = None
    partner: str | None = None
    email: str | None = None
    max_wait: float | None = None


def settings_file(environment: Mapping[str, str]) -> Path:
    """Return `$XDG_CONFIG_HOME/adanalytics/config.toml`, by default below `~/.config`.

    It need not exist.
    """
    return user_folder(environment, "XDG_CONFIG_HOME", ".config") / "config.toml"


@dataclass(frozen=True, slots=True)
class Profiles:
    """The tables of one settings file; each is checked when it is used."""

    path: Path
    tables: Mapping[str, object]

    def find(self, name: str | None, *, may_be_new: bool = False) -> Profile:
        """Return the profile `name`, or `default` where none is asked for.

        Only a profile that was named must exist. Raises SettingsError for one that does not,
        for an unknown key, and for a secret, since `login` keeps secrets.
        """
        table = self.tables.get(name or DEFAULT_PROFILE)
        if table is not None:
            return _read_profile(table, f"[profile.{name or DEFAULT_PROFILE}] in {self.path}")
        if name is None or may_be_new:
            return Profile()
        known = ", ".join(sorted(self.tables)) or "none"
        raise SettingsError(
            f"Unknown profile '{name}' in {self.path}. Known profiles: {known}.",
            remedy=f"Add it: adanalytics login --profile {shlex.quote(name)}",
        )


def read_profiles(path: Path) -> Profiles:
    """Read the settings file; a missing file has no profiles.

    Raises SettingsError for a file that is not TOML or holds anything but tables of profiles.
    """
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except FileNotFoundError:
        return Profiles(path, {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        twice = str(error).startswith(_TWICE)
        remedy = "A name is there twice: keep one of them." if twice else "Correct the file."
        raise SettingsError(f"Cannot read {path}: {error}.", remedy=remedy) from error
    for name in [each for each in document if each != "profile"]:
        found = re.search(rf"""(?m)^\s*\[?\s*["']?{re.escape(name)}""", text)
        line = text.count("\n", 0, found.end()) + 1 if found else 1
        what, remedy = f"{name} is outside a profile", f"Move it below [profile.{DEFAULT_PROFILE}]."
        if isinstance(document[name], dict):
            what, remedy = f"[{name}] is no profile", f"Write [profile.{name}]."
        raise SettingsError(f"{path}, line {line}: {what}.", remedy=remedy)
    tables = document.get("profile", {})
    if not isinstance(tables, dict):
        raise SettingsError(
            f"'profile' in {path} is not a table.",
            remedy=f"Write [profile.{DEFAULT_PROFILE}] with base_url and partner below it.",
        )
    return Profiles(path, tables)


def _read_profile(table: object, where: str) -> Profile:
    known = [field.name for field in fields(Profile)]
    if not isinstance(table, dict):
        raise SettingsError(f"{where} is not a table.", remedy=f"Known keys: {', '.join(known)}.")
    if secret := sorted(_SECRET_KEYS & table.keys()):
        raise SettingsError(
            f"{where} holds a secret ({secret[0]}).",
            remedy="Remove it and run adanalytics login, which keeps secrets safely.",
        )
    for key, value in table.items():
        if key not in known:
            raise SettingsError(
                f"{where} has an unknown key '{key}'.", remedy=f"Known keys: {', '.join(known)}."
            )
        kinds: tuple[type, ...] = (int, float) if key == "max_wait" else (str,)
        several = key == "partner" and isinstance(value, list)
        if any(type(each) not in kinds for each in (value if several else [value])):
            what, remedy = "a string", "Put it in quotes."
            if key == "max_wait":
                what, remedy = "a number", "Write it in seconds."
            raise SettingsError(f"{where}: {key} is not {what}.", remedy=remedy)
        if several:
            table = {**table, key: ",".join(value)}
    return Profile(**table)


def write_profile(path: Path, name: str, values: Mapping[str, str]) -> None:
    """Set the keys of `[profile.NAME]` in the file `path`, which is replaced at once or not at all.

    A file that has these values already is not written.
    """
    # Only a login needs it, so no other command pays for its import.
    import tomlkit

    try:
        # Bytes, because reading as text would turn CR LF into LF.
        before = path.read_bytes().decode()
    except FileNotFoundError:
        before = ""
    document = tomlkit.parse(before)
    table = tomlkit.table()
    table.update(values)
    try:
        profiles = document.setdefault("profile", tomlkit.table(is_super_table=True))
        profiles.setdefault(name, tomlkit.table()).update(values)
    except ValueError:
        # An inline table, which can hold no other table.
        lines = f"[profile.{name}]\n{table.as_string()}".strip()
        raise SettingsError(
            f"Cannot add the profile to {path}.", remedy=f"Add these lines: {lines}"
        ) from None
    after = tomlkit.dumps(document)
    if after == before:
        return
    make_folder(path.parent)
    with replacing(path) as stream:
        stream.write(after.encode())


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and its source, named as the user knows it: an option, a variable, a profile."""

    value: str
    source: str


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings without the secrets; all except the profile may be missing.

    `max_wait` is in seconds; None leaves it to the client.
    """

    profile: Setting
    base_url: Setting | None
    partner: Setting | None
    email: Setting | None
    max_wait: float | None

    @property
    def login_command(self) -> str:
        """Return the command that signs in to the profile in use."""
        name = self.profile.value
        option = "" if name == DEFAULT_PROFILE else f" --profile {shlex.quote(name)}"
        return f"adanalytics login{option}"


def find_settings(
    invocation: Invocation, environment: Mapping[str, str], *, new_profile: bool = False
) -> ServiceSettings:
    """Take each setting from the strongest source that has it.

    An option wins over `ADANALYTICS_*`, which wins over the profile. An empty variable counts as
    not set. A profile that was asked for must exist, unless it may be a `new_profile`.

    Raises SettingsError for an unusable file or an unknown profile.
    """
    name = _strongest("PROFILE", "--profile", invocation.profile, environment)
    profiles = read_profiles(settings_file(environment))
    known = profiles.find(name.value if name else None, may_be_new=new_profile)
    chosen = name or Setting(DEFAULT_PROFILE, "by default")

    def find(variable: str, option: str, given: str | None, kept: str | None) -> Setting | None:
        found = _strongest(variable, option, given, environment)
        return found or (Setting(kept, f"profile {chosen.value}") if kept else None)

    return ServiceSettings(
        chosen,
        find("BASE_URL", "--base-url", invocation.base_url, known.base_url),
        find("PARTNER", "--partner", invocation.partner, known.partner),
        find("EMAIL", "--email", None, known.email),
        known.max_wait if invocation.max_wait is None else invocation.max_wait,
    )


def base_url_of(settings: ServiceSettings) -> str:
    """Return the address of the service; raise SettingsError without a usable one."""
    if settings.base_url is None:
        raise _missing("The service address is missing.", "--base-url URL", "ADANALYTICS_BASE_URL")
    setting = settings.base_url
    return check_address(setting.value, f"The service address ({setting.source})")


def check_address(address: str, name: str = "The address") -> str:
    """Return an address that a service can have; for others raise SettingsError about `name`."""
    try:
        BaseUrl.parse(address)
    except ConfigurationError as error:
        remedy = "Write it like https://stats.example, without user, password, ? and #."
        if re.fullmatch(r"[\w.-]+(:\d+)?/?", address):
            local = address.startswith(("localhost", "127."))
            remedy = f"Did you mean {'http' if local else 'https'}://{address}?"
        raise SettingsError(
            f"{name}{error.message.removeprefix('base_url')}", remedy=remedy
        ) from None
    return address


def partner_of(settings: ServiceSettings) -> str:
    """Return the partner whose data are read; raises SettingsError without one, and for several."""
    partner, *others = partners_of(settings)
    if others:
        raise SettingsError(
            "This command reads one partner, not "
            f"{', '.join([partner, *others])}. summary and dates read several.",
            remedy=f"Name one: --partner {shlex.quote(partner)}",
        )
    return partner


def partners_of(settings: ServiceSettings) -> list[str]:
    """Return the partners whose data are read, each once; raises SettingsError without one."""
    named = settings.partner.value.split(",") if settings.partner else []
    partners = list(dict.fromkeys(name for name in map(str.strip, named) if name))
    if not partners:
        raise _missing("The partner is missing.", "--partner ID", "ADANALYTICS_PARTNER")
    return partners


def _strongest(
    variable: str, option: str, given: str | None, environment: Mapping[str, str]
) -> Setting | None:
    if given:
        return Setting(_text(given, option), option)
    full_name = f"ADANALYTICS_{variable}"
    kept = environment.get(full_name)
    return Setting(_text(kept, full_name), full_name) if kept else None


def _text(value: str, source: str) -> str:
    """Return a value as it was typed; a locale without UTF-8 leaves lone surrogates in it."""
    try:
        return os.fsencode(value).decode() if not value.isprintable() else value
    except UnicodeError:
        raise SettingsError(f"{source} is not UTF-8 text.", remedy="Write it in UTF-8.") from None


def _missing(what: str, option: str, variable: str) -> SettingsError:
    return SettingsError(
        what, remedy=f"Give {option}, set {variable}, or sign in: adanalytics login"
    )
