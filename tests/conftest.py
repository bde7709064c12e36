"""What every test shares: a state folder of its own, and no deadline for properties."""

import pytest
from hypothesis import settings

# The machine may be busy, and how long something takes is no test's matter.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A state folder that no other test sees: a port and its key may come again within the hour."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
