"""What `adanalytics login` leaves behind, for tests that do not run it."""

import os
from pathlib import Path

from adanalytics_client._base.files import state_folder
from adanalytics_client._profiles.login_store import LoginStore, StoredLogin
from adanalytics_client._profiles.settings_file import settings_file


def store_login(
    base_url: str, api_key: str, *, profile: str = "default", lines: str = 'partner = "acme"'
) -> None:
    """Store a key in the private file, and add a profile; set `XDG_CONFIG_HOME` before."""
    path = settings_file(os.environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(f'[profile.{profile}]\nbase_url = "{base_url}"\n{lines}\n')
    store = LoginStore(Path(state_folder(os.environ)))
    store.put(profile, StoredLogin("api_key", base_url, secret=api_key))
