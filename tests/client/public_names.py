"""Every public name of the client that no page documents with its whole module."""

from typing import Any

import adanalytics_client as package
from adanalytics_client import dataset, observers, types

_NAMES = [(module, name) for module in (package, observers, types) for name in module.__all__]
_NAMES += [
    (dataset, name)
    for name, thing in vars(dataset).items()
    if isinstance(thing, type) and issubclass(thing, Exception)
]
HOMES = {name: module.__name__ for module, name in _NAMES}
PUBLIC: dict[str, Any] = {name: getattr(module, name) for module, name in _NAMES}
# The errors, which have a page of their own.
ERRORS = {name for name, thing in PUBLIC.items() if hasattr(thing, "amended")}
