"""Check single arguments and import optional libraries: each error says what to do."""

from importlib import import_module
from math import isfinite
from numbers import Integral
from types import ModuleType
from typing import TypeVar, get_args

from adanalytics_client.errors import ConfigurationError

from .observer import Observer

Value = TypeVar("Value")
# The extra that installs a library, unless it has the library's name.
EXTRA_OF = {
    "deltalake": "delta",
    "duckdb": "sql",
    "fsspec": "s3",
    "obstore": "s3",
    "pyarrow": "arrow",
    "pyiceberg": "iceberg",
}


def invalid(name: str, value: object, remedy: str) -> ConfigurationError:
    """Return the error of a wrong argument, which names it and says what to pass."""
    return ConfigurationError(f"{name}={value!r} is not valid.", remedy=remedy)


def check_choice(name: str, value: object, choices: object) -> None:
    """Check that a value is one of the words of a Literal; raise ConfigurationError otherwise."""
    if value not in (words := get_args(choices)):
        raise invalid(name, value, f"Pass one of {', '.join(words)}.")


def whole(value: Value) -> Value | int:
    """Return a whole number of any library, such as NumPy, as an int; other values unchanged."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return value


def check_number(
    name: str, value: object, least: int, most: int | None = None, *, none: str = ""
) -> None:
    """Check that a value is a whole number within bounds; True and False are not.

    None passes where `none` says what it means.
    """
    if none and value is None:
        return
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or not least <= value <= (value if most is None else most)
    ):
        bounds = f", at least {least}" if most is None else f" from {least} to {most}"
        other = f", or None for {none}" if none else ""
        raise invalid(name, value, f"Pass a whole number{bounds}{other}.")


def check_seconds(name: str, value: object, *, zero: bool) -> None:
    """Check that a value is a finite number of seconds, above 0 or, with `zero`, at least 0."""
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and isfinite(value)
        and (value > 0 or (zero and value == 0))
    ):
        return
    bound = "at least" if zero else "above"
    raise invalid(name, value, f"Pass a number of seconds {bound} 0.")


def check_text(name: str, value: object) -> None:
    """Check that a value is text or None. The message does not repeat it: it may be a secret."""
    if not isinstance(value, str | None):
        raise ConfigurationError(
            f"{name} is not a str but a {type(value).__name__}.", remedy="Pass a str."
        )


def check_observer(observer: object) -> None:
    """Refuse anything that is not an observer, such as the class instead of an instance."""
    if observer is not None and not isinstance(observer, Observer):
        name = getattr(observer, "__name__", type(observer).__name__)
        raise ConfigurationError(
            f"observer={name} is not valid.", remedy="Pass an instance of a subclass of Observer."
        )


def import_extra(package: str, extra: str = "") -> ModuleType:
    """Return a package of an optional dependency, or say which extra to install."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        # A module that is missing below an installed package is a different error.
        if error.name != package:
            raise
        name = extra or EXTRA_OF.get(package, package)
        raise ConfigurationError(
            f"This needs {package}.",
            remedy=f"Install it: python -m pip install 'adanalytics[{name}]'",
        ) from None
