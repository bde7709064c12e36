"""The test controls: everything that a test can do to a server while it runs."""

from adanalytics_server.control.api import control_router
from adanalytics_server.control.controls import ControlError, Controls
from adanalytics_server.control.files import CannotRestore

__all__ = ["CannotRestore", "ControlError", "Controls", "control_router"]
