"""A forked child begins with no lock and no connection that its parent may be using.

Two processes that read from one socket each get a part of the other's answers, and a lock that
another thread held at the fork is never released in the child, where that thread does not exist.
"""

import os
from typing import Protocol
from weakref import WeakSet


class Renewed(Protocol):
    """Has such locks or connections."""

    def renew(self) -> None:
        """Replace them: called in a child before anything else runs there, in its only thread."""


_LIVING: WeakSet[Renewed] = WeakSet()


def renew_in_children(each: Renewed) -> None:
    """Renew this in every forked child, as long as it lives."""
    _LIVING.add(each)


def _renew() -> None:
    for each in list(_LIVING):
        each.renew()


os.register_at_fork(after_in_child=_renew)
