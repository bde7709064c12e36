"""Which service and whose data: option, environment, profile, and where each was found."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from adanalytics_cli.core.errors import SettingsError
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.profiles import DEFAULT_PROFILE, read_profiles, settings_file


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it comes from, in the words that a user would look for."""

    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Place:
    """The settings that are no secrets; each but the profile may be missing."""

    profile: Setting
    base_url: Setting | None
    partner: Setting | None
    email: Setting | None

    @property
    def login_command(self) -> str:
        """The command that signs in to the profile in use."""
        name = self.profile.value
        option = "" if name == DEFAULT_PROFILE else f" --profile {shlex.quote(name)}"
        return f"adanalytics login{option}"


def find_place(
    invocation: Invocation, environment: Mapping[str, str], *, new_profile: bool = False
) -> Place:
    """Take each setting from the strongest place that has it.

    An option wins over `ADANALYTICS_*`, which wins over the profile. An empty variable counts as
    not set. A profile that was asked for must exist, unless it may be a `new_profile`.

    Raises SettingsError for a file that cannot be used or a profile that is not there.
    """
    name = _strongest("PROFILE", "--profile", invocation.profile, environment)
    profiles = read_profiles(settings_file(environment))
    known = profiles.find(name.value if name else None, may_be_new=new_profile)
    chosen = name or Setting(DEFAULT_PROFILE, "by default")

    def find(variable: str, option: str, given: str | None, kept: str | None) -> Setting | None:
        found = _strongest(variable, option, given, environment)
        return found or (Setting(kept, f"profile {chosen.value}") if kept else None)

    return Place(
        chosen,
        find("BASE_URL", "--base-url", invocation.base_url, known.base_url),
        find("PARTNER", "--partner", invocation.partner, known.partner),
        find("EMAIL", "--email", None, known.email),
    )


def base_url_of(place: Place) -> str:
    """The address of the service; raises SettingsError without one."""
    if place.base_url is None:
        raise _missing("no address of the service", "--base-url URL", "ADANALYTICS_BASE_URL")
    return place.base_url.value


def partner_of(place: Place) -> str:
    """The partner whose data are read; raises SettingsError without one."""
    if place.partner is None:
        raise _missing("no partner", "--partner ID", "ADANALYTICS_PARTNER")
    return place.partner.value


def _strongest(
    variable: str, option: str, given: str | None, environment: Mapping[str, str]
) -> Setting | None:
    if given:
        return Setting(_text(given, option), option)
    full_name = f"ADANALYTICS_{variable}"
    kept = environment.get(full_name)
    return Setting(_text(kept, full_name), full_name) if kept else None


def _text(value: str, source: str) -> str:
    """A value as it was typed: a locale without UTF-8 leaves bytes of it as lone surrogates."""
    try:
        return os.fsencode(value).decode() if not value.isprintable() else value
    except UnicodeError:
        raise SettingsError(
            f"{source} is not UTF-8 text", remedy="Write it in UTF-8, or in ASCII alone."
        ) from None


def _missing(what: str, option: str, variable: str) -> SettingsError:
    return SettingsError(
        what, remedy=f"Give {option}, set {variable}, or sign in: adanalytics login"
    )
