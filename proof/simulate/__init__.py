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

from proof.report import Section

EXPLANATION = """\
The client's core does no I/O: it yields what it wants done. In a simulated world, a driver of some
250 lines does that on virtual time, with models of the service, of the processes that share a
quota, and of a disk that loses what was not synced. A seed fixes the order of everything, each
delay, fault, restatement, kill, power cut and change of the clock. A world that breaks a promise is
shrunk to a short one and told step by step; `--seed` repeats it. The promises are:

- no hour, rolling or from one full hour to the next, has more requests than the limit, and nothing
  is sent before the time that the service asked to wait for;
- each hour of events is as it was at some moment of the pull, or the pull ends with a typed error;
  a pull that was killed and resumed brings what an undivided one brings;
- where nothing is wrong, nothing fails, and no more requests are sent than the pages take;
- no credential leaves its origin; each wait, and each number of attempts, requests and orders, has
  a bound;
- a file is complete or absent, and after any number of deaths, a sync equals the service.

Processes that share a quota use its real rules and SQLite in memory. A dataset is synced with its
own files and the same driver, but its two threads run one after the other. `make simulate-broken`
puts defects into a copy of the client, one at a time: lines of the table of mutations, and what was
wrong in an earlier version. It fails if one of them is not found within a minute.
"""


def measure(quick: bool) -> Section:
    """Simulate worlds and datasets, and count violations."""
    # Of a whole run; the modules import everything that they simulate.
    from proof.simulate.__main__ import Total, run_worlds

    total: Total = run_worlds(schedules=500 if quick else 10_000, syncs=5 if quick else 100)
    return Section(
        title="Simulated worlds",
        explanation=EXPLANATION,
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
        figures={"simulated worlds": total.worlds, "violations": float(len(total.violations))},
        commands=["make simulate", "make simulate-broken"],
    )
