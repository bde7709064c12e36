"""Writing a profile keeps everything else in the settings file, byte for byte."""

import tomllib
from pathlib import Path

import pytest

from adanalytics_cli.account.profile_edit import with_profile, write_profile
from adanalytics_cli.core.errors import SettingsError

WRITTEN = """\
# my services
[profile.default]  # the usual one
base_url = "http://old.example" # moved in May
color = 'kept'

[profile.night]
partner = "b"
"""


def test_values_change_in_place_and_comments_stay() -> None:
    after = with_profile(WRITTEN, "default", {"base_url": "http://new.example", "partner": "acme"})
    assert (
        after
        == """\
# my services
[profile.default]  # the usual one
partner = "acme"
base_url = "http://new.example" # moved in May
color = 'kept'

[profile.night]
partner = "b"
"""
    )


def test_a_new_profile_goes_to_the_end_in_the_line_ends_of_the_file() -> None:
    before = WRITTEN.replace("\n", "\r\n")
    after = with_profile(before, 'a "b".c', {"partner": "ü", "email": "x"})
    assert after == before + '\r\n[profile."a \\"b\\".c"]\r\npartner = "ü"\r\nemail = "x"\r\n'
    assert tomllib.loads(after)["profile"]['a "b".c'] == {"partner": "ü", "email": "x"}


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "made" / "config.toml"
    assert write_profile(file, "default", {"partner": "acme"})
    written = file.stat()
    assert not write_profile(file, "default", {"partner": "acme"})
    assert file.stat().st_ino == written.st_ino


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to(tmp_path / "mine.toml")
    (tmp_path / "mine.toml").write_text(WRITTEN)
    write_profile(tmp_path / "config.toml", "night", {"partner": "c"})
    assert (tmp_path / "config.toml").is_symlink()
    assert (tmp_path / "mine.toml").read_text() == WRITTEN.replace('"b"', '"c"')


@pytest.mark.parametrize(
    "text",
    [
        'profile = {default = {partner = "b"}}\n',
        'profile.default.partner = "b"\n',
        '[profile]\ndefault = {partner = "b"}\n',
        '[profile.default]\npartner = """\nb"""\n',
        'x = """\n[profile.default]\n"""\n',
    ],
)
def test_a_form_it_cannot_change_is_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        write_profile(file, "default", {"partner": "acme"})
    assert caught.value.remedy == 'Add these lines: [profile.default]; partner = "acme"'
    assert file.read_text() == text
