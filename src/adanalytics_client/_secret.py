"""A holder for a secret that never shows it."""

import json
from typing import NoReturn
from urllib.parse import quote, quote_plus

from adanalytics_client.errors import ConfigurationError

# Shorter ones occur in ordinary words, where stars would show them rather than hide them.
_SHORTEST = 4


class Secret:
    """A credential in memory: it has no readable repr and refuses to be pickled.

    Example:
        >>> Secret("aak_123")
        Secret('***')
        >>> Secret("aak_123").reveal()
        'aak_123'
    """

    __slots__ = ("_known", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        self._known: tuple[str, ...] = ()

    def reveal(self) -> str:
        """The secret itself; call it where it is put on the wire and nowhere else."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A secret is not pickled; read it again where it is needed.")

    def __bool__(self) -> bool:
        return bool(self._value)

    def check(self, name: str) -> None:
        """See that it is text: a caller may have given anything.

        Raises:
            ConfigurationError: naming the argument.
        """
        if not isinstance(self._value, str):
            raise ConfigurationError(f"{name} must be a str, not {type(self._value).__name__}.")

    def trimmed(self) -> "Secret":
        """The same without white space around it."""
        return Secret(self._value.strip())

    @property
    def fits_header(self) -> bool:
        """Whether an Authorization header can hold it."""
        value = self._value
        return value.isascii() and value.isprintable() and " " not in value and value != ""

    def redact(self, text: str) -> str:
        """`text` without the secret, also where it stands as part of JSON or of an address."""
        if len(self._value) < _SHORTEST:
            return text
        for spelling in self._spellings():
            text = text.replace(spelling, "***")
        return text

    def _spellings(self) -> tuple[str, ...]:
        """A server that repeats what it was sent may do so undecoded."""
        if not self._known:
            value = self._value
            found = (
                json.dumps(value)[1:-1],
                json.dumps(value, ensure_ascii=False)[1:-1],
                quote(value, safe=""),
                quote(value),
                quote_plus(value),
                value,
            )
            # Mostly all are the same, and several texts of each request are looked through.
            self._known = tuple(dict.fromkeys(found))
        return self._known
