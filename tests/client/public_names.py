"""Every public name of the client that no page documents with its whole module."""

from typing import Any

import adanalytics_client as package
from adanalytics_client import observers

HOMES = {name: module.__name__ for module in (package, observers) for name in module.__all__}
PUBLIC: dict[str, Any] = {
    name: getattr(module, name) for module in (package, observers) for name in module.__all__
}
