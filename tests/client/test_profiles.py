"""Clients of what `adanalytics login` stored."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.stored_login import store_login

from adanalytics_client import AsyncClient, Client, QuotaPolicy, errors
from adanalytics_client._base.files import state_folder
from adanalytics_client._profiles import login_store
from adanalytics_client._profiles.settings_file import settings_file
from adanalytics_server.local import LocalServer


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_a_profile_has_all_that_a_client_needs(reference: LocalServer) -> None:
    store_login(reference.url, reference.api_key, lines='partner = "acme"\nmax_wait = 5')
    with Client.from_profile() as client:
        assert len(client.dates()) == 2
        assert client.connection.session.config.quota.max_wait == 5
        assert client.quota.limit == 1000
    for name, rate, limit in (("free", 0, None), ("small", 20, 20)):
        lines = f'partner = "acme"\nrate_limit = {rate}'
        store_login(reference.url, reference.api_key, profile=name, lines=lines)
        with Client.from_profile(name) as client:
            assert client.quota.limit == limit
    with Client.from_profile(
        "default", partner="south", quota=QuotaPolicy(max_wait=9, limit=None)
    ) as other:
        assert (other.partner, other.quota.limit) == ("south", None)
        assert other.connection.session.config.quota.max_wait == 9
    with Client.from_profile(quota=QuotaPolicy(on_limit="raise")) as third:
        quota = third.connection.session.config.quota
        assert (quota.max_wait, quota.on_limit, quota.limit) == (5, "raise", 1000)
    with Client.from_profile("small", quota=QuotaPolicy(on_limit="raise")) as fourth:
        assert fourth.quota.limit == 20


async def _days(client: AsyncClient) -> int:
    async with client:
        return len(await client.dates())


def test_so_does_one_for_asyncio(reference: LocalServer) -> None:
    store_login(reference.url, reference.api_key, profile="night")
    assert asyncio.run(_days(AsyncClient.from_profile("night"))) == 2


def test_the_secret_may_be_in_the_keyring(
    reference: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADANALYTICS_API_KEY", "another, which does not count")
    store_login(reference.url, reference.api_key)
    store = login_store.LoginStore(state_folder(os.environ))
    if entry := store.find("default"):
        store.put("default", replace(entry, secret=None))
    monkeypatch.setattr(login_store, "get_secret", {"default": reference.api_key}.get)
    with Client.from_profile() as client:
        assert len(client.dates()) == 2
    monkeypatch.setattr(login_store, "get_secret", {}.get)
    with pytest.raises(errors.ConfigurationError, match="adanalytics login --store file"):
        Client.from_profile()


@pytest.mark.parametrize(
    ("name", "lines", "match"),
    [
        ("noon", "", "Unknown profile 'noon'.*Known profiles: default.*login --profile noon"),
        ("default", 'partner = "a,b"', "partners a,b.*partner="),
        ("default", "email = 5", "email is not a string"),
        ("default", 'email = "b@c.example"', "adanalytics login$"),
    ],
)
def test_a_profile_that_cannot_be_used_says_what_to_do(name: str, lines: str, match: str) -> None:
    store_login("http://stats.example", "s3cret-key", lines=lines)
    if "b@c" in lines:
        login_store.LoginStore(state_folder(os.environ)).put("default", None)
    with pytest.raises(errors.ConfigurationError, match=match):
        Client.from_profile(name)


def test_a_stored_key_goes_to_the_address_that_it_was_stored_for() -> None:
    store_login("http://stats.example", "s3cret-key")
    path = settings_file(os.environ)
    path.write_text(path.read_text().replace("stats", "other"))
    with pytest.raises(errors.ConfigurationError, match="Nobody is signed in at http://other"):
        Client.from_profile()


def test_the_environment_names_the_other_way() -> None:
    with pytest.raises(errors.ConfigurationError, match=r"from_profile.* after adanalytics login"):
        Client.from_env({})
