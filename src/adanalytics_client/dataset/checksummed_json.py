"""Small JSON files that carry a checksum, so that a damaged one is noticed and not believed."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_SEAL = "sha256"


class Damaged(ValueError):
    """The content is not what was written."""


def seal(record: Mapping[str, Any]) -> bytes:
    r"""A record as one line of JSON that ends with its own checksum.

    >>> unseal(seal({"rows": 3}))
    {'rows': 3}
    """
    return _text({**record, _SEAL: _digest(record)}).encode() + b"\n"


def unseal(content: bytes) -> dict[str, Any]:
    """The record in a sealed file.

    Raises Damaged when it is not as it was written.
    """
    try:
        record = json.loads(content)
    except ValueError as error:
        raise Damaged(f"it is not JSON: {error}") from None
    if not isinstance(record, dict):
        raise Damaged("it is not an object")
    claimed = record.pop(_SEAL, None)
    if claimed != _digest(record):
        raise Damaged("its checksum does not fit")
    return record


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(record).encode()).hexdigest()


def _text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"))
