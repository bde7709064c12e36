"""What a reference server is to answer, and what it was asked."""

import json
from typing import Any

from adanalytics_server.faults import Fault
from adanalytics_server.local import LocalServer


def answer(operation: str, body: object, **when: Any) -> Fault:
    """Let each answer of an operation be this one; a body that is no text is sent as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return Fault(effect="status", operation=operation, status=200, body=text, **when)


def operations(server: LocalServer) -> list[str | None]:
    """Return the operation of each request since the journal was cleared."""
    return [entry.operation for entry in server.journal.entries()]
