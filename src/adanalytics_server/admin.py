"""Plain functions that change a data folder, for the command line.

Each runs a method of ``Accounts`` or ``ApiKeys`` on a folder, as in ``list_partners(data)``. A
server that runs on the folder sees each change at its next request.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from .accounts.api_keys import ApiKeys
from .accounts.people import Accounts
from .clock import Clock
from .storage.state import State, open_state

Part = TypeVar("Part", Accounts, ApiKeys)
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def _on_folder(
    part: Callable[[State, Clock], Part],
    method: Callable[Concatenate[Part, Arguments], Awaitable[Answer]],
) -> Callable[Concatenate[Path, Arguments], Answer]:
    def on_folder(data: Path, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        async def run() -> Answer:
            async with open_state(data) as state:
                return await method(part(state, Clock()), *args, **kwargs)

        return asyncio.run(run())

    return on_folder


add_partner = _on_folder(Accounts, Accounts.add_partner)
find_partner = _on_folder(Accounts, Accounts.partner)
list_partners = _on_folder(Accounts, Accounts.partners)
add_user = _on_folder(Accounts, Accounts.add_user)
list_users = _on_folder(Accounts, Accounts.users)
delete_user = _on_folder(Accounts, Accounts.delete_user)
create_key = _on_folder(ApiKeys, ApiKeys.create)
list_keys = _on_folder(ApiKeys, ApiKeys.all)
delete_key = _on_folder(ApiKeys, ApiKeys.delete)
