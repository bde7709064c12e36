"""What `adanalytics doctor` looks at on this machine; nothing here sends a request."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from adanalytics_cli.account.keyring_access import get_secret
from adanalytics_cli.account.login_store import LoginStore
from adanalytics_cli.console.quantities import in_bytes
from adanalytics_cli.console.redaction import redact
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.folders import state_folder
from adanalytics_cli.core.profiles import read_profiles, settings_file
from adanalytics_cli.version import version_line

Result = Literal["ok", "warn", "fail"]

# One module of each extra that nothing else brings along.
_EXTRAS = {
    "server": "fastapi",
    "keyring": "keyring",
    "arrow": "pyarrow",
    "pandas": "pandas",
    "polars": "polars",
    "otel": "opentelemetry",
}
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
# A day of a large partner fits in the first; in the second hardly a page does.
_LITTLE_ROOM = 1_000_000_000
_NO_ROOM = 50_000_000


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `remedy` is what to do unless it is `ok`."""

    result: Result
    name: str
    found: str
    remedy: str = ""


def check_machine(environment: Mapping[str, str], folder: Path) -> Iterator[Check]:
    """The checks one by one; `folder` is where files would be written."""
    yield Check("ok", "version", version_line())
    yield Check("ok", "Python", f"{platform.python_version()} at {sys.executable}")
    yield _settings(environment)
    yield _logins(environment)
    yield _keyring()
    yield _quota_log(environment)
    yield _extras()
    yield _disk(folder)
    yield _proxies(environment)


def _settings(environment: Mapping[str, str]) -> Check:
    path = settings_file(environment)
    try:
        names = read_profiles(path).tables
    except CommandError as error:
        return Check("fail", "settings", str(error), error.remedy)
    found = f"{path}: {', '.join(names)}" if names else f"none yet ({path})"
    return Check("ok", "settings", found)


def _logins(environment: Mapping[str, str]) -> Check:
    store = LoginStore(state_folder(environment))
    try:
        names = store.names()
    except (CommandError, OSError) as error:
        remedy = getattr(error, "remedy", "") or f"Make {store.path} readable for you alone."
        return Check("fail", "logins", str(error), remedy)
    return Check("ok", "logins", f"{store.path}: {', '.join(names)}" if names else "none stored")


def _keyring() -> Check:
    try:
        get_secret("")
    except CommandError as error:
        # Not even a warning: a file does, and servers have no keyring.
        return Check("ok", "keyring", f"{error}: a private file will do")
    return Check("ok", "keyring", "answers")


def _quota_log(environment: Mapping[str, str]) -> Check:
    folder = state_folder(environment) / "quota"
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return Check("ok", "quota log", str(folder))
    except OSError as error:
        return Check(
            "fail",
            "quota log",
            f"{nearest}: {error.strerror}",
            "Requests of several programs cannot be counted together. Make the folder writable.",
        )


def _extras() -> Check:
    there = [name for name, module in _EXTRAS.items() if find_spec(module)]
    missing = [name for name in _EXTRAS if name not in there]
    found = ", ".join(there) or "none"
    return Check("ok", "extras", found + (f" (not: {', '.join(missing)})" if missing else ""))


def _disk(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    found = f"{in_bytes(free)} free in {folder}"
    if not os.access(folder, os.W_OK):
        return Check("warn", "disk", f"{folder} is not writable", "Write with -o to another one.")
    if free < _LITTLE_ROOM:
        return Check("fail" if free < _NO_ROOM else "warn", "disk", found, "Make room.")
    return Check("ok", "disk", found)


def _proxies(environment: Mapping[str, str]) -> Check:
    names = [each for name in _PROXIES for each in (name, name.lower()) if environment.get(each)]
    if not names:
        return Check("ok", "proxies", "none in the environment")
    found = ", ".join(f"{name}={redact(environment[name], ())}" for name in names)
    return Check(
        "warn", "proxies", found, "Requests go through it; NO_PROXY=HOST makes an exception."
    )
