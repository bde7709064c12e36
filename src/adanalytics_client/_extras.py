"""Libraries that not everybody has: imported when first used, named with their extra."""

from importlib import import_module
from types import ModuleType

from adanalytics_client.errors import ConfigurationError


def import_extra(module: str, *, extra: str) -> ModuleType:
    """A module of an optional dependency.

    Raises:
        ConfigurationError: when it is not installed, naming the extra to install.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # Something that is missing below an installed package is another trouble.
        if error.name != package:
            raise
        raise ConfigurationError(
            f"This needs {package}: python -m pip install 'adanalytics[{extra}]'"
        ) from None
