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


@pytest.mark.parametrize("secret", ["k", "ey", "abc"])
def test_a_secret_of_few_letters_spoils_no_text(secret: str) -> None:
    text = "Check the key in --partner abc."
    assert redact(text, [secret]) == text
    assert redact("the key abcd was refused", ["abcd", secret]) == "the key [hidden] was refused"


def test_other_text_stays() -> None:
    text = "GET http://stats.example/api?hour=3 password of ada@example.org"
    assert redact(text, ["unrelated", ""]) == text
