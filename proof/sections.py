"""The sections, and how they are measured: those without times two at once."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context

from proof.report import Section

# Each module has a function `measure(quick: bool) -> Section`.
SECTIONS = [
    *("client", "start", "economy", "server", "faults", "damage", "kills", "stores", "load"),
    *("security", "mutation", "simulate"),
]
# Those that measure neither time nor memory; in this order both processes end at about one time.
UNTIMED = ["security", "kills", "faults", "economy", "stores", "damage"]


def measure(name: str, *, quick: bool) -> Section:
    """Measure the section of that name, and say how long that took."""
    print(f"Measuring: {name}", flush=True)
    began = time.monotonic()
    section: Section = import_module(f"proof.{name}").measure(quick)
    print(f"Measured: {name}, in {time.monotonic() - began:.0f} s", flush=True)
    return section


def measure_all(names: Sequence[str], *, quick: bool) -> Iterator[tuple[str, Section]]:
    """Measure sections, and yield the name and the result of each as soon as it is there.

    Those without times come first, each in a process of its own. When all of them are over, the
    others follow, one at a time.
    """
    with ProcessPoolExecutor(2, get_context("spawn"), max_tasks_per_child=1) as pool:
        untimed = {
            pool.submit(measure, name, quick=quick): name for name in UNTIMED if name in names
        }
        for measured in as_completed(untimed):
            yield untimed[measured], measured.result()
    for name in names:
        if name not in UNTIMED:
            yield name, measure(name, quick=quick)
