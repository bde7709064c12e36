"""A holder for a secret that never shows it."""

from typing import NoReturn

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

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself; call it where it is put on the wire and nowhere else."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A secret is not pickled; read it again where it is needed.")

    def redact(self, text: str) -> str:
        """`text` with every occurrence of the secret replaced."""
        return text.replace(self._value, "***") if len(self._value) >= _SHORTEST else text
