"""Answers that differ from the data of a reference server."""

import json
from typing import Any

from adanalytics_server.faults import Fault


def answer(operation: str, body: object, **when: Any) -> Fault:
    """Let each answer of an operation be this one; a body that is no text is sent as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return Fault(effect="status", operation=operation, status=200, body=text, **when)
