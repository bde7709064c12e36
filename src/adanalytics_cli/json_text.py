"""JSON text in which a Decimal is a number with exactly its digits."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import TypeGuard

_fast = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_ascii = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def encode_json(value: object) -> bytes:
    r"""Write `value` as one line of UTF-8 JSON.

    >>> encode_json({"revenue": Decimal("0.000001230")})
    b'{"revenue":0.000001230}'
    """
    try:
        return _fast(value).encode()
    except TypeError:
        # The standard encoder knows no Decimal and could only turn it into a float.
        return _exact(value).encode()
    except UnicodeEncodeError:
        # Half a surrogate pair is legal in JSON, but only as an escape.
        return _ascii(value).encode()


def _exact(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)
    if _is_object(value):
        members = (f"{_ascii(str(key))}:{_exact(item)}" for key, item in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_exact(item) for item in value) + "]"
    return _ascii(value)


def _is_object(value: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(value, Mapping)
