"""No credential survives redaction, whatever text it is in."""

import pytest

from adanalytics_cli.console.redaction import redact


@pytest.mark.parametrize(
    "text",
    [
        "the key s3cret+/= was refused",
        "Authorization: Bearer s3cret+/=",
        "authorization: bearer eyJhbGciOi.eyJz3cret.x-y_z",
        "key aak_s3cret-part_two",
        "http://ada:s3cret+/=@stats.example/path",
        '{"email": "a@b.c", "password": "s3cret"}',
        "password='s3cret'",
    ],
)
def test_secret_is_hidden(text: str) -> None:
    shown = redact(text, ["s3cret+/="])
    assert "s3cret" not in shown
    assert "z3cret" not in shown
    assert "[hidden]" in shown


def test_other_text_stays() -> None:
    text = "GET http://stats.example/api?hour=3 password of ada@example.org"
    assert redact(text, ["unrelated", ""]) == text
