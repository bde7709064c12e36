"""Which of option, environment and profile wins, and how a profile is written and limited."""

import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import run

from adanalytics_cli.account.credential import Credential, find_credential
from adanalytics_cli.core.errors import NoCredential, SettingsError
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.settings import base_url_of, find_settings, partner_of, write_profile
from adanalytics_server.local import LocalServer


def resolve(invocation: Invocation, environment: dict[str, str]) -> tuple[str, str, Credential]:
    """What a command works with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.environ", environment)
        settings = find_settings(invocation)
        base_url, partner = base_url_of(settings), partner_of(settings)
        return base_url, partner, find_credential(settings, invocation)


PROFILES = """
[profile.default]
base_url = "http://default.example"
partner = "from-default"

[profile.night]
base_url = "http://night.example"
partner = "from-night"
email = "night@example.org"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    write_profiles(tmp_path, PROFILES)
    return {"XDG_CONFIG_HOME": str(tmp_path), "ADANALYTICS_API_KEY": "k"}


def write_profiles(folder: Path, text: str) -> None:
    (folder / "adanalytics").mkdir(exist_ok=True)
    (folder / "adanalytics" / "config.toml").write_text(text)


@pytest.mark.parametrize(
    ("invocation", "variables", "settings"),
    [
        (Invocation(), {}, ("http://default.example", "from-default")),
        (Invocation(), {"PARTNER": ""}, ("http://default.example", "from-default")),
        (Invocation(), {"PROFILE": "night"}, ("http://night.example", "from-night")),
        (
            Invocation(profile="night"),
            {"PROFILE": "default"},
            ("http://night.example", "from-night"),
        ),
        (
            Invocation(partner="from-option"),
            {"PROFILE": "night", "BASE_URL": "http://variable.example", "PARTNER": "variable"},
            ("http://variable.example", "from-option"),
        ),
    ],
)
def test_option_over_environment_over_profile(
    environment: dict[str, str],
    invocation: Invocation,
    variables: dict[str, str],
    settings: tuple[str, str],
) -> None:
    environment |= {f"ADANALYTICS_{name}": value for name, value in variables.items()}
    assert resolve(invocation, environment)[:2] == settings


@pytest.mark.parametrize(
    ("variables", "credential"),
    [
        ({"EMAIL": "a@b.c", "PASSWORD": "p"}, (None, "k", None)),
        # The e-mail address is that of the profile.
        ({"API_KEY": "", "PASSWORD": "p"}, ("night@example.org", None, "p")),
    ],
)
def test_a_key_is_used_before_a_password(
    environment: dict[str, str], variables: dict[str, str], credential: tuple[str | None, ...]
) -> None:
    environment |= {f"ADANALYTICS_{name}": value for name, value in variables.items()}
    found = resolve(Invocation(profile="night"), environment)[2]
    assert (found.email, found.of_kind("api_key"), found.of_kind("password")) == credential


def test_secrets_are_noted_for_redaction_and_kept_out_of_the_repr(
    environment: dict[str, str],
) -> None:
    invocation = Invocation()
    environment["ADANALYTICS_API_KEY"] = "aak_very_secret"
    settings = resolve(invocation, environment)
    assert invocation.secrets == {"aak_very_secret"}
    assert "very_secret" not in repr(settings) + repr(invocation)


def test_a_password_is_noted_too(environment: dict[str, str]) -> None:
    invocation = Invocation()
    del environment["ADANALYTICS_API_KEY"]
    environment |= {"ADANALYTICS_EMAIL": "a@b.c", "ADANALYTICS_PASSWORD": "very secret"}
    assert "very secret" not in repr(resolve(invocation, environment))
    assert invocation.secrets == {"very secret"}


def test_nothing_to_sign_in_with(environment: dict[str, str]) -> None:
    del environment["ADANALYTICS_API_KEY"]
    with pytest.raises(NoCredential):
        resolve(Invocation(), environment)


@pytest.mark.parametrize("missing", ["base_url", "partner"])
def test_missing_setting(tmp_path: Path, missing: str) -> None:
    given = {"base_url": "http://h", "partner": "p"}
    given[missing] = ""
    invocation = Invocation(base_url=given["base_url"], partner=given["partner"])
    with pytest.raises(SettingsError) as caught:
        resolve(invocation, {"XDG_CONFIG_HOME": str(tmp_path)})
    assert f"ADANALYTICS_{missing.upper()}" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("[profile.default]\napi_key = 'x'\n", "holds a secret", ""),
        ("[profile.default]\npassword = 'x'\n", "holds a secret", ""),
        ("[profile.default]\nbase = 'x'\n", "unknown key 'base'", ""),
        ("[profile.default]\npartner = 7\n", "not a string", ""),
        ("profile = 1\n", "not a table", ""),
        ("profile.default = 1\n", "not a table", ""),
        ("[profile.default\n", "Cannot read", ""),
        ("[profile.other]\n", "The service address is missing", ""),
        ("\n[default]\npartner = 'x'\n", "config.toml, line 2: [default] is", "[profile.default]"),
        ("[profile.a]\n[ 'night' ]\n", "config.toml, line 2: [night] is", "[profile.night]"),
        ("partner = 'x'\n", "config.toml, line 1: partner is", "below [profile.default]"),
        ("[profile.default]\npartner='x'\npartner='y'\n", "(at line 3, ", "twice: keep one of"),
        ("[profile.default]\n[profile.default]\n", "(at line 2, ", "twice: keep one of"),
        ("[profile.default]\npartner=x\n", "(at line 2, ", "Correct the file."),
    ],
)
def test_a_profile_file_that_cannot_be_used(
    tmp_path: Path, text: str, said: str, remedy: str
) -> None:
    write_profiles(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        resolve(Invocation(), {"XDG_CONFIG_HOME": str(tmp_path)})
    assert said in str(caught.value)
    assert "'x'" not in str(caught.value)
    assert remedy in caught.value.remedy


TEXT = '[profile.default]\r\nbase_url = "http://stats.example"\r\npartner = "Zürich"\r\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_an_editor_may_add_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "config" / "adanalytics" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(TEXT.encode(encoding))
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "ADANALYTICS_API_KEY": "secret"}
    assert resolve(Invocation(), environment)[:2] == ("http://stats.example", "Zürich")
    words = ("login", "--no-verify", "--store", "file", "--zone", "+05:30")
    assert run(*words, env={"ADANALYTICS_API_KEY": "secret-key"}).exit_code == 0
    assert TEXT in file.read_bytes().decode()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_a_settings_file_in_another_encoding_is_named(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "config" / "adanalytics" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(TEXT.encode(encoding))
    done = run("dates")
    assert done.exit_code == 2
    assert f"{file} is not a text file in UTF-8.\nSave it as UTF-8" in done.stderr


def test_no_folder_means_no_settings() -> None:
    assert (
        "The service address is missing"
        in run("dates", env={"XDG_CONFIG_HOME": "/dev/null"}).stderr
    )


def test_keys_are_named_as_the_file_has_them(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    write_profiles(tmp_path / "config", "[profile.default]\nbase = 'x'\n")
    keys = "base_url, partner, email, max_wait, rate_limit, service"
    assert f"\nKnown keys: {keys}.\n" in run("dates").stderr


def test_a_profile_that_is_not_there(environment: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=r"Unknown profile 'noon' .*default, night"):
        resolve(Invocation(profile="noon"), environment)


def test_a_relative_config_home_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_profiles(tmp_path, PROFILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(SettingsError, match="The service address is missing"):
        resolve(Invocation(), {"XDG_CONFIG_HOME": "."})


@pytest.mark.parametrize("option", ["--partner", "--base-url", "--profile"])
def test_bytes_that_are_no_text_are_told(service: LocalServer, option: str) -> None:
    done = run("dates", option, "\udcff")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {option} is not UTF-8 text.\n")
    variable = f"ADANALYTICS_{option[2:].replace('-', '_').upper()}"
    done = run("dates", env={variable: "\udcff"})
    assert done.stderr.startswith(f"Error: {variable} is not UTF-8 text.\n")


def test_a_locale_without_utf_8_leaves_a_partner_what_it_is(
    spawn: Callable[..., "subprocess.Popen[bytes]"],
    service: LocalServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("LC_ALL", "C"), ("PYTHONCOERCECLOCALE", "0"), ("PYTHONUTF8", "0")):
        monkeypatch.setenv(name, value)
    _, said = spawn("-v", "dates", "--partner", "é").communicate(timeout=60)
    assert b"/api/partners/%C3%A9/" in said


def test_a_command_to_go_on_names_the_fields_too() -> None:
    invocation = Invocation(fields={"revenue": "the money"}, time_field="ymdh", zone="+05:30")
    line = "adanalytics --time-field ymdh --zone +05:30 --map 'revenue=the money' sync"
    assert invocation.command_line("sync") == line


def test_a_command_that_sends_nothing_names_the_options_that_it_ignores() -> None:
    done = run("--map", "revenue=rev", "--rows-key", "hits", "--zone", "UTC", "skill")
    assert done.exit_code == 0
    assert done.stderr.endswith("skill sends nothing and ignores --rows-key, --map.\n")
    assert run("--quiet", "--map", "revenue=rev", "skill").stderr == ""
    assert "ignores" not in run("--map", "revenue=rev", "status").stderr


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
