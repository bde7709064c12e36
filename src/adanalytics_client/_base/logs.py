"""The log of this package on stderr, for those who have not configured logging."""

import logging
import sys
from collections.abc import Mapping

from adanalytics_client.errors import ConfigurationError

_LEVELS = ("debug", "info", "warning", "error")


def log_to_stderr(environment: Mapping[str, str]) -> None:
    """Show records from the level in `ADANALYTICS_LOG` on, if it is set.

    A program that has configured logging gets the records of that level in its own log instead.

    Raises:
        ConfigurationError: for an unknown level.
    """
    level = environment.get("ADANALYTICS_LOG", "").lower()
    if not level:
        return
    if level not in _LEVELS:
        raise ConfigurationError(
            f"ADANALYTICS_LOG={level} is not a level.", remedy=f"Set it to {', '.join(_LEVELS)}."
        )
    log = logging.getLogger("adanalytics_client")
    log.setLevel(level.upper())
    if not log.hasHandlers() and sys.stderr is not None:
        shown = logging.StreamHandler()
        shown.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        log.addHandler(shown)
