"""`adanalytics logout`: forget what `login` stored."""

import os

import click

from adanalytics_cli.account.login_store import LoginStore
from adanalytics_cli.console.remarks import remark
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.folders import state_folder
from adanalytics_cli.core.invocation import current_invocation
from adanalytics_cli.core.settings import find_place


@click.pass_context
def run(context: click.Context) -> None:
    """Remove the credential of the profile; without one there is nothing to do."""
    place = find_place(current_invocation(context), os.environ, new_profile=True)
    profile = place.profile.value
    removed = LoginStore(state_folder(os.environ)).remove(profile)
    if removed is None:
        remark(f"Nothing is stored for profile {profile}.", context)
        return
    remark(f"Removed the login of profile {profile} from the {removed.place}.", context)
    if removed.kind == "api_key":
        remark("The key itself still works until it is deleted in Settings > API Keys.", context)


logout = ExampleCommand(
    "logout",
    callback=run,
    params=[],
    summary="Forget the credential that login stored.",
    details="The settings in the profile stay, and so does the API key at the service.",
    examples=["adanalytics logout", "adanalytics logout --profile night"],
    connects=True,
)
