"""Simulate worlds: `python -m proof.simulate --minutes 1`; repeat one with `--seed 123`."""

import gc
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import click

from proof.simulate.choices import Choices, shrink
from proof.simulate.driver import Violation
from proof.simulate.syncs import SyncScenario
from proof.simulate.worlds import Scenario

YEAR = 365.25 * 86_400.0
_SHOWN = 200
_WORLDS_UNTIL_COLLECTION = 20

Made = Sequence[int]
Simulated = tuple[Scenario | SyncScenario, Violation | None]


def simulate(
    seed: int, made: Made | None = None, *, sync: bool = False, kind: str | None = None
) -> Simulated:
    """Run the world of a seed, or of the decisions that were made in another."""
    # Pauses before retries are random, too.
    random.seed(seed)
    choices, trace = Choices(seed, made), made is not None
    scenario = (
        SyncScenario(choices, trace=trace) if sync else Scenario(choices, trace=trace, kind=kind)
    )
    try:
        scenario.run()
    except Violation as violation:
        return scenario, violation
    return scenario, None


def explain(seed: int, violation: Violation, made: Made, *, sync: bool = False) -> str:
    """Shrink a world that failed, and tell what happens in it."""

    def fails(candidate: Made) -> bool:
        _, other = simulate(seed, candidate, sync=sync)
        return other is not None and _kind(other) == _kind(violation)

    shortest = shrink(made, fails)
    scenario, found = simulate(seed, shortest, sync=sync)
    lines = scenario.world.trace or []
    more = [f"... and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    kind = f"a service of the kind {scenario.service.kind!r}"
    told = [f"seed {seed}: {violation}"]
    told.append(f"shrunk from {len(made)} to {len(shortest)} decisions, {kind}:")
    return "\n".join([*told, *lines[:_SHOWN], *more, f"violation: {found}"])


def _kind(violation: Violation) -> list[str]:
    """Return the first words, which tell violations apart while a world shrinks."""
    return [word for word in str(violation).split()[:6] if word.isalpha()]


@dataclass
class Total:
    """What was simulated; the violations are told step by step, or by one line."""

    worlds: int = 0
    datasets: int = 0
    years: float = 0.0
    a_minute: float = 0.0
    violations: list[str] = field(default_factory=list)

    def add(self, seed: int, *, raw: bool, sync: bool = False, kind: str | None = None) -> None:
        scenario, violation = simulate(seed, sync=sync, kind=kind)
        self.years += scenario.seconds / YEAR
        if violation is not None:
            made = scenario.pick.made
            told = f"seed {seed}: {violation}" if raw else explain(seed, violation, made, sync=sync)
            self.violations.append(told)


def run_worlds(
    *,
    minutes: float = math.inf,
    schedules: int | None = None,
    syncs: int = 0,
    first: int = 1,
    raw: bool = False,
    kind: str | None = None,
) -> Total:
    """Simulate worlds, then datasets, until one breaks a promise."""
    # Collections of what was imported would take a tenth of the time. Worlds that ended with errors
    # have cycles, and the log removes the secrets of all clients that are not collected yet.
    gc.freeze()
    gc.disable()
    total, began = Total(), process_time()
    while process_time() - began < 60 * minutes and total.worlds != schedules:
        total.add(first + total.worlds, raw=raw or kind is not None, kind=kind)
        total.worlds += 1
        if total.worlds % _WORLDS_UNTIL_COLLECTION == 0:
            gc.collect()
        if total.violations:
            break
    total.a_minute = 60 * total.worlds / max(process_time() - began, 1e-3)
    while total.datasets < syncs and not total.violations:
        total.add(first + total.datasets, raw=raw, sync=True)
        total.datasets += 1
        gc.collect()
    gc.enable()
    return total


@click.command(context_settings={"show_default": True})
@click.option("--seed", type=int, help="Repeat the world of this seed, and tell what happens.")
@click.option("--sync", is_flag=True, help="With --seed: a world of a dataset.")
@click.option("--minutes", type=float, default=1.0, help="Stop after so many minutes of CPU.")
@click.option("--schedules", type=int, help="Stop after so many worlds.")
@click.option("--syncs", default=0, help="Simulate so many datasets, too.")
@click.option("--first", default=1, help="The first seed.")
@click.option("--kind", help="Let pulls meet only services of this kind; violations are raw.")
@click.option("--raw", is_flag=True, help="Do not shrink a world that fails.")
@click.option("--record", type=click.Path(path_type=Path), help="Write the result to this file.")
def main(
    *,
    seed: int | None,
    sync: bool,
    minutes: float,
    schedules: int | None,
    syncs: int,
    first: int,
    kind: str | None,
    raw: bool,
    record: Path | None,
) -> None:
    """Run worlds until one breaks a promise."""
    if seed is not None:
        sys.exit(_repeat(seed, sync=sync))
    total = run_worlds(
        minutes=minutes, schedules=schedules, syncs=syncs, first=first, raw=raw, kind=kind
    )
    result = (
        f"{total.worlds:,} schedules and {total.datasets:,} datasets, {total.years:,.1f} simulated "
        f"years, {len(total.violations)} violations"
    )
    print(f"{result}; {total.a_minute:,.0f} schedules a minute", *total.violations, sep="\n")
    if record is not None:
        record.write_text(f"{result}, {datetime.now(UTC):%Y-%m-%d}.\n")
    sys.exit(len(total.violations))


def _repeat(seed: int, *, sync: bool) -> int:
    """Tell what happens in one world; return 1 after a violation."""
    scenario, violation = simulate(seed, sync=sync)
    if violation is not None:
        print(explain(seed, violation, scenario.pick.made, sync=sync))
        return 1
    again, _ = simulate(seed, scenario.pick.made, sync=sync)
    print("\n".join(again.world.trace or []))
    print(f"seed {seed}: no violation in {scenario.seconds:,.0f} simulated seconds")
    return 0


if __name__ == "__main__":
    main()
