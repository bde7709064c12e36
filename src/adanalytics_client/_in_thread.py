"""Run a function in a thread for a task, whatever becomes of the task meanwhile."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_thread(action: Callable[[], T]) -> T:
    """What a function returns that runs in a thread, within the context of this task.

    A thread cannot be cancelled. Whoever cleans up after a cancellation must not do so under one
    that still works, so a cancelled task first waits for its end, however often it is cancelled
    while it does. What the function then returns or raises is lost.

    Args:
        action: the function; it may take as long as it likes.

    Raises:
        asyncio.CancelledError: once the thread has ended, when the task was cancelled.

    Example:
        >>> asyncio.run(in_thread(lambda: sum(range(10))))
        45
    """
    # No task of its own, which asyncio.run would cancel with all others when it ends.
    loop = asyncio.get_running_loop()
    work = loop.run_in_executor(None, partial(copy_context().run, action))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        if not work.cancelled():
            # Looked at, or the event loop would tell of an error that nobody saw.
            work.exception()
        raise
