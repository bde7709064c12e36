"""Many short worlds, each fixed by one number, in which the client must keep its promises.

The core yields what it wants done: `Send`, `Sleep`, `Atomic`, `Exclusive`, `Offload`. So a third
driver, beside those with threads and with asyncio, can own time, order and every answer:

- `choices.py` makes every decision of a world from its seed, and shrinks a world that fails;
- `driver.py` runs processes on virtual time, in an order that the seed fixes;
- `service.py` is the service, which may be slow, wrong, restated or away;
- `disk.py` forgets what was not synced;
- `programs.py` is what one process does, and what must hold during and after it;
- `worlds.py` puts a service, a machine and its processes together, and lets things happen to them;
- `syncs.py` lets a dataset be synced through any number of deaths;
- `broken.py` puts defects back, to see that they are found.
"""

from proof.report import Figures, Section


def measure(quick: bool) -> Section:
    """Simulate worlds and datasets, and count violations."""
    # Of a whole run; the modules import everything that they simulate.
    from proof.simulate.__main__ import Total, run_worlds

    total: Total = run_worlds(schedules=500 if quick else 10_000, syncs=5 if quick else 100)
    return Section(
        Figures(
            "Simulated worlds",
            {
                "simulated worlds": total.worlds,
                "simulated years": total.years,
                "violations": len(total.violations),
            },
            {"simulated worlds": None, "simulated years": None, "violations": 0},
        ),
        columns=["Worlds", "Datasets", "Simulated years", "Violations", "Worlds per minute"],
        rows=[
            [
                f"{total.worlds:,}",
                f"{total.datasets:,}",
                f"{total.years:,.1f}",
                f"{len(total.violations):,}",
                f"{total.a_minute:,.0f}",
            ]
        ],
    )
