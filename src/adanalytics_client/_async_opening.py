"""Open an output without holding up the event loop."""

import asyncio
import os
from collections.abc import Sequence
from typing import BinaryIO

from adanalytics_client._streams import NoReader
from adanalytics_client.output import Output, open_output

_EACH = 0.05


async def opened_output(
    to: str | os.PathLike[str] | BinaryIO, wanted: str | None, columns: Sequence[str] | None
) -> Output:
    """What `open_output` opens, once somebody reads the pipe that it is to write to.

    A pipe is looked at now and then instead of opened in a thread: a thread waits there whatever
    becomes of its task, even when the interpreter is to end. Nothing else is opened in one either:
    a cancellation then would leave the file to nobody.
    """
    while True:
        try:
            return open_output(to, wanted, columns, waits=False)
        except NoReader:
            await asyncio.sleep(_EACH)
