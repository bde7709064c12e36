"""Which service and whose data: option, environment, profile, and where each was found."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from adanalytics_client import ConfigurationError, ServiceProfile
from adanalytics_client._base.files import make_folder
from adanalytics_client._base.urls import BaseUrl
from adanalytics_client._profiles.settings_file import (
    DEFAULT_PROFILE,
    Profiles,
    login_command,
    read_profiles,
    read_settings,
    settings_file,
)

from .errors import SettingsError
from .files import replacing
from .invocation import Invocation


def profiles_of() -> Profiles:
    """Read the settings file; raises SettingsError for an unusable one."""
    with _settings_errors():
        return read_profiles(settings_file(os.environ))


@contextmanager
def _settings_errors() -> Iterator[None]:
    try:
        yield
    except ConfigurationError as error:
        # Its remedy names keys of the file, which are not options of the command line.
        raise SettingsError(error.message, remedy=error.remedy) from error


def write_profile(path: Path, name: str, values: Mapping[str, object]) -> None:
    """Set the keys of `[profile.NAME]` in the file `path`, which is replaced at once or not at all.

    A file that has these values already is not written.
    """
    # Only a login needs it, so no other command pays for its import.
    import tomlkit

    try:
        text = read_settings(path)
    except FileNotFoundError:
        text = ""
    document = tomlkit.parse(text)
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
    new_text = tomlkit.dumps(document)
    if new_text == text:
        return
    make_folder(path.parent)
    with replacing(path) as stream:
        stream.write(new_text.encode())


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and its source, named as the user knows it: an option, a variable, a profile."""

    value: str
    source: str


class ServiceSettings(NamedTuple):
    """The settings without the secrets; all except the profile may be missing.

    `max_wait` is in seconds; None leaves it to the client. A `rate_limit` of 0 is none.
    """

    profile: Setting
    base_url: Setting | None
    partner: Setting | None
    email: Setting | None
    max_wait: float | None
    rate_limit: int
    service: ServiceProfile

    @property
    def login_command(self) -> str:
        """Return the command that signs in to the profile in use."""
        return login_command(self.profile.value)


def find_settings(invocation: Invocation, *, new_profile: bool = False) -> ServiceSettings:
    """Take each setting from the strongest source that has it.

    An option wins over `ADANALYTICS_*`, which wins over the profile. An empty variable counts as
    not set. A profile that was asked for must exist, unless it may be a `new_profile`.

    Raises SettingsError for an unusable file or an unknown profile.
    """
    name = _strongest("PROFILE", "--profile", invocation.profile)
    profiles = profiles_of()
    with _settings_errors():
        profile = profiles.find(name.value if name else None, may_be_new=new_profile)
        service = _overruled(profile.service, invocation)
    # Each setting keeps its source, which `status` and errors show.
    profile_name = name or Setting(DEFAULT_PROFILE, "by default")

    def find(
        variable: str, option: str, option_value: str | None, profile_value: str | None
    ) -> Setting | None:
        setting = _strongest(variable, option, option_value)
        return setting or (
            Setting(profile_value, f"profile {profile_name.value}") if profile_value else None
        )

    return ServiceSettings(
        profile_name,
        find("BASE_URL", "--base-url", invocation.base_url, profile.base_url),
        find("PARTNER", "--partner", invocation.partner, profile.partner),
        find("EMAIL", "--email", None, profile.email),
        profile.max_wait if invocation.max_wait is None else invocation.max_wait,
        profile.rate_limit if invocation.rate_limit is None else invocation.rate_limit,
        service,
    )


def _overruled(service: ServiceProfile, invocation: Invocation) -> ServiceProfile:
    """Return the service's profile as far as no option says otherwise."""
    fields, time_field = {**service.fields, **invocation.fields}, invocation.time_field
    # The time of an event has two places in the profile, and an option wins over both.
    if time_field and "event_time" not in invocation.fields:
        fields.pop("event_time", None)
    elif "event_time" not in invocation.fields:
        time_field = service.time_field
    is_probed = not (invocation.rows_key or invocation.fields or invocation.time_field)
    return replace(
        service,
        rows_key=invocation.rows_key or service.rows_key,
        fields=fields,
        time_field=time_field,
        zone=invocation.zone or service.zone,
        # What the user names was not seen by a probe, so the service cannot have changed it.
        probe_date=service.probe_date if is_probed else None,
    )


def now_at_service(invocation: Invocation) -> datetime:
    """Return the time in the time zone of the service, whose days the user means."""
    return invocation.clock().astimezone(find_settings(invocation).service.tzinfo())


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
    partner, *rest = partners_of(settings)
    if rest:
        raise SettingsError(
            "This command reads one partner, not "
            f"{', '.join([partner, *rest])}. summary and dates read several.",
            remedy=f"Name one: --partner {shlex.quote(partner)}",
        )
    return partner


def partners_of(settings: ServiceSettings) -> list[str]:
    """Return the partners whose data are read, each once; raises SettingsError without one."""
    names = settings.partner.value.split(",") if settings.partner else []
    partners = list(dict.fromkeys(name for name in map(str.strip, names) if name))
    if not partners:
        raise _missing("The partner is missing.", "--partner ID", "ADANALYTICS_PARTNER")
    return partners


def _strongest(variable: str, option: str, option_value: str | None) -> Setting | None:
    if option_value:
        return Setting(_text(option_value, option), option)
    full_name = f"ADANALYTICS_{variable}"
    text = os.environ.get(full_name)
    return Setting(_text(text, full_name), full_name) if text else None


def _text(value: str, source: str) -> str:
    """Return a value as it was typed; a locale without UTF-8 leaves lone surrogates in it."""
    try:
        return os.fsencode(value).decode() if not value.isprintable() else value
    except UnicodeError:
        raise SettingsError(f"{source} is not UTF-8 text.", remedy="Write it in UTF-8.") from None


def _missing(name: str, option: str, variable: str) -> SettingsError:
    return SettingsError(
        name, remedy=f"Give {option}, set {variable}, or sign in: adanalytics login"
    )
