"""Change one profile in the settings file and keep every other byte, also comments."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from adanalytics_cli.core.errors import SettingsError
from adanalytics_cli.core.files import replacing

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ANY_HEADER = re.compile(r"\s*\[")
# A key whose value is one string, and what follows it on the line.
_TEXT = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*')"""


def write_profile(path: Path, name: str, values: Mapping[str, str]) -> bool:
    """Set the keys of `[profile.NAME]` in the file `path`; return whether anything changed.

    The file is replaced at once or not at all. Raises SettingsError when its layout cannot be
    changed safely; the error gives the lines to add by hand.
    """
    try:
        # Bytes, because reading as text would turn CR LF into LF.
        before = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        before = ""
    if _holds(before, name, values):
        return False
    after = with_profile(before, name, values)
    if not _is_change(before, after, name, values):
        lines = "; ".join([_header(name), *(f"{key} = {_quoted(values[key])}" for key in values)])
        raise SettingsError(
            f"Cannot add the profile to {path}.", remedy=f"Add these lines: {lines}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.write(after.encode("utf-8"))
    return True


def with_profile(text: str, name: str, values: Mapping[str, str]) -> str:
    r"""`text` with the keys of one profile set.

    >>> with_profile("# mine\n", "night", {"partner": "acme"})
    '# mine\n\n[profile.night]\npartner = "acme"\n'
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if _opens(line, name)), None)
    if start is None:
        lines += [*([""] if lines else []), _header(name)]
        start = len(lines) - 1
    for key, value in reversed(list(values.items())):
        stop = _end_of_table(lines, start)
        known = re.compile(rf"""(\s*["']?{key}["']?\s*=\s*){_TEXT}(\s*(?:#.*)?)""")
        for at in range(start + 1, stop):
            if found := known.fullmatch(lines[at]):
                lines[at] = f"{found[1]}{_quoted(value)}{found[2]}"
                break
        else:
            lines.insert(start + 1, f"{key} = {_quoted(value)}")
    return end.join(lines) + end


def _opens(line: str, name: str) -> bool:
    parts = line.partition("#")[0].strip()
    return parts.replace(" ", "") in (_header(name), f"[profile.{_quoted(name)}]")


def _end_of_table(lines: list[str], start: int) -> int:
    after = range(start + 1, len(lines))
    return next((at for at in after if _ANY_HEADER.match(lines[at])), len(lines))


def _header(name: str) -> str:
    return f"[profile.{name if _BARE_KEY.fullmatch(name) else _quoted(name)}]"


def _quoted(value: str) -> str:
    # A JSON string without surrogate pairs is also a TOML string.
    return json.dumps(value, ensure_ascii=False)


def _holds(text: str, name: str, values: Mapping[str, str]) -> bool:
    """Whether the profile has these values already."""
    table = tomllib.loads(text).get("profile", {}).get(name, {})
    return all(table.get(key) == value for key, value in values.items())


def _is_change(before: str, after: str, name: str, values: Mapping[str, str]) -> bool:
    """Whether `after` is `before` with these values and no other change."""
    wanted = tomllib.loads(before)
    wanted.setdefault("profile", {}).setdefault(name, {}).update(values)
    try:
        return tomllib.loads(after) == wanted
    except tomllib.TOMLDecodeError:
        return False
