"""Writing a profile keeps everything else in the settings file."""

import tomllib
from pathlib import Path

import pytest

from adanalytics_cli.core.errors import SettingsError
from adanalytics_cli.core.settings import write_profile

WRITTEN = """\
# my services
[profile.default]  # the usual one
base_url = "http://old.example" # moved in May
color = 'kept'

[profile.night]
partner = "b"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A settings file with two profiles."""
    path = tmp_path / "config.toml"
    path.write_text(WRITTEN)
    return path


def test_values_change_in_place_and_comments_stay(file: Path) -> None:
    write_profile(file, "default", {"base_url": "http://new.example", "partner": "acme"})
    assert (
        file.read_text()
        == """\
# my services
[profile.default]  # the usual one
base_url = "http://new.example" # moved in May
color = 'kept'
partner = "acme"

[profile.night]
partner = "b"
"""
    )


def test_a_new_profile_goes_to_the_end_whatever_its_name(file: Path) -> None:
    write_profile(file, 'a "b".c', {"partner": "ü"})
    assert file.read_text().startswith(WRITTEN)
    assert tomllib.loads(file.read_text())["profile"]['a "b".c'] == {"partner": "ü"}


def test_a_table_in_one_line_that_can_hold_no_other_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('profile={a={base_url="http://x.example"}}\n')
    with pytest.raises(SettingsError, match="Cannot add the profile to") as caught:
        write_profile(path, "b", {"partner": "acme"})
    assert caught.value.remedy == 'Add these lines: [profile.b]\npartner = "acme"'
    assert path.read_text() == 'profile={a={base_url="http://x.example"}}\n'


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "made" / "config.toml"
    write_profile(file, "default", {"partner": "acme"})
    written = file.stat()
    write_profile(file, "default", {"partner": "acme"})
    assert file.stat().st_ino == written.st_ino


def test_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    write_profile(link, "night", {"partner": "c"})
    assert link.is_symlink()
    assert file.read_text() == WRITTEN.replace('"b"', '"c"')


@pytest.mark.parametrize(
    "text",
    [
        'profile = {default = {partner = "b"}}\n',
        'profile.default.partner = "b"\n',
        '[profile.default]\npartner = """\nb"""\n',
        '[profile.a]\npartner = "a"\n[other]\n[profile.default]\npartner = "b"\n',
    ],
)
def test_other_ways_to_write_a_table(file: Path, text: str) -> None:
    file.write_text(text)
    write_profile(file, "default", {"partner": "acme"})
    expected = tomllib.loads(text)
    expected["profile"]["default"]["partner"] = "acme"
    assert tomllib.loads(file.read_text()) == expected
