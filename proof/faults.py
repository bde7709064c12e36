"""What the client makes of a server that misbehaves.

Each try has an outcome: the same rows as without a fault; an error of the client's own classes;
other rows with a warning in the log; another error; or other rows without a word. The last two must
not happen.
"""

import os
import random
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from adanalytics_server.faults import SHAPES
from proof.downloads import downloads, tasks
from proof.report import Section
from proof.service import PROGRAM
from proof.trial import (
    ALL,
    FIRST,
    LAST,
    OTHER,
    OUTCOMES,
    SAME,
    SILENT,
    TYPED,
    WARNED,
    Tally,
    Trial,
    Truth,
    csv_rows,
    find_truth,
    trial,
)

SEEDS, QUICK_SEEDS = 300, 10
# Commands, which mostly wait.
AT_ONCE = 4
STATUSES = (200, 204, 301, 304, 400, 401, 403, 404, 409, 410, 418, 425, 429, 500, 502, 503, 504)
EFFECTS = (
    *map(str, STATUSES),
    "429 retry-after 5",
    "503 retry-after 5",
    "latency 2ms",
    "reset",
    "empty reply",
    "truncated body",
    "truncated gzip",
    "slow body 5ms",
    "bad json",
    "wrong content type",
    "html page",
    "page drift on events",
    "page drift 20 on events",
    "stuck export on start_export",
    "failed export on start_export",
    "expired url on start_export",
    "expired url on export_status",
)
TIMES = ("always", "once", "once after 1")
# Those of any response, and of these the ones after which nobody waits long.
ON_DOWNLOAD = [effect for effect in EFFECTS if " on " not in effect]
SOON = [effect for effect in ON_DOWNLOAD if "retry-after" not in effect and effect != "429"]


def combination(dice: random.Random) -> list[str]:
    """Return two or three faults that strike at random."""
    some = dice.sample(EFFECTS, dice.choice((2, 3)))
    chance = f"with probability 0.{dice.randint(1, 5)} seed {dice.randint(1, 999)}"
    times = (chance, "once", "twice", "once per request")
    return [f"{fault} {dice.choice(times)}" for fault in some]


def command_lines(tally: Tally, truth: Truth, tries: int) -> None:
    """Pull the events by the command, which waits in the machine's time, so several at once."""

    def pull(number: int) -> tuple[str, str]:
        faults = combination(random.Random(f"command {number}"))
        with trial(tally, truth) as at:
            outcome, said = _command_line(at, faults)
        return outcome, f"{faults} {said}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for outcome, what in pool.map(pull, range(tries)):
            tally.add("command line: events", outcome, what)


def _command_line(at: Trial, faults: Sequence[str]) -> tuple[str, str]:
    at.server.faults.add(*faults)
    file, folder = at.folder / "events.csv", str(at.folder)
    access = {"ADANALYTICS_BASE_URL": at.server.url, "ADANALYTICS_API_KEY": at.server.api_key}
    state = {"XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
    done = subprocess.run(
        [*PROGRAM, "--partner", at.server.partner, "events", FIRST, LAST, "-o", str(file)],
        env={**os.environ, **access, **state},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode == 0:
        return SAME if csv_rows(file) == at.truth.events else SILENT, done.stderr
    told = done.stderr.strip() and "Traceback" not in done.stderr and not file.exists()
    return TYPED if told else OTHER, done.stderr


def measure(quick: bool) -> Section:
    """Try every fault and dialect alone, then random combinations."""
    seeds = QUICK_SEEDS if quick else SEEDS
    tally, truth = Tally(), find_truth()
    with trial(tally, truth) as at:
        for effect in EFFECTS:
            for times in TIMES[-1:] if quick else TIMES:
                at.each([f"{effect} {times}"])
        downloads(at, ON_DOWNLOAD, quick=quick)
        tasks(at, SOON[:: 6 if quick else 1])
    command_lines(tally, truth, seeds // 10)
    dialects = ["reference", *list(SHAPES)[:: 9 if quick else 1]]
    for number, dialect in enumerate(dialects):
        with trial(tally, truth, dialect=dialect) as at:
            at.each([])
            # Half of the combinations are in the reference dialect.
            ours = range(seeds // 2) if not number else range(seeds // 2, seeds)
            step = 1 if not number else len(dialects) - 1
            for seed in ours[max(0, number - 1) :: step]:
                dice = random.Random(seed)
                at.each(combination(dice), dice.sample(ALL, 2))
    return tally.section("Faults", OUTCOMES, {WARNED: None, OTHER: 0, SILENT: 0})
