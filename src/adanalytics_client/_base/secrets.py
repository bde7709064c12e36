"""A holder for a secret that never shows it."""

import html
import json
import re
import string
from typing import NoReturn

from adanalytics_client.errors import ConfigurationError

# Shorter secrets occur in ordinary words, where stars would reveal rather than hide them.
_SHORTEST = 4
_IN_HEADER = re.compile(r"[!-~]+")
# The characters that no encoding changes.
_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")


class Secret:
    """A credential in memory: it has no readable repr and refuses to be pickled."""

    __slots__ = ("_pattern", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        self._pattern: re.Pattern[str] | None = None

    def reveal(self) -> str:
        """Return the secret itself; call this only where it is sent."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "A client or its credential cannot be pickled; make one where it is needed."
        )

    def __bool__(self) -> bool:
        return bool(self._value)

    def check(self, name: str) -> None:
        """Check that it is a string: a caller may have passed anything."""
        if not isinstance(self._value, str):
            raise ConfigurationError(
                f"{name} is not a str but a {type(self._value).__name__}.", remedy="Pass a str."
            )

    def for_header(self, name: str) -> "Secret":
        """Return the secret without surrounding white space, if a header can hold it.

        The error for any other does not repeat the text, as an HTTP library's own would.
        """
        secret = Secret(self._value.strip())
        if not _IN_HEADER.fullmatch(secret.reveal()):
            raise ConfigurationError(
                f"{name} contains a space, line break or other illegal character.",
                remedy="Copy it again.",
            )
        return secret

    def redact(self, text: str) -> str:
        """`text` without the secret, even where JSON or an address encodes it."""
        if len(self._value) < _SHORTEST:
            return text
        # Compiled once: several texts of each request are searched.
        if self._pattern is None:
            self._pattern = re.compile("".join(map(_spellings, self._value)))
        return self._pattern.sub("***", text)


def _spellings(character: str) -> str:
    """Return the pattern of a character in any encoding that a server may use.

    Escapes may use letters of either case, and may themselves be escaped.
    """
    if character in _UNRESERVED:
        return re.escape(character)
    plain = {character, html.escape(character), json.dumps(character)[1:-1], f"\\{character}"}
    if character == " ":
        plain.add("+")
    percent = "".join(f"%(?:25)*{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    coded = f"{percent}|\\\\u{ord(character):04x}|&#0*{ord(character)};|&#x0*{ord(character):x};"
    longest_first = sorted(plain, key=len, reverse=True)
    # An escaped text may be a member of another JSON, where each backslash is doubled.
    return rf"\\*(?:{'|'.join(map(re.escape, longest_first))}|(?i:{coded}))"
