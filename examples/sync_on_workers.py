"""Bring days of a dataset up to date with workers that have no credential.

    ADANALYTICS_BASE_URL=... ADANALYTICS_API_KEY=... ADANALYTICS_PARTNER=... \
        python examples/sync_on_workers.py ENGINE 2026-01-15 2026-01-16 [FOLDER]

ENGINE is processes, dask or ray. Without a cluster, dask and ray work on this machine. For workers
on several machines, FOLDER is an absolute path, or an address such as s3://bucket/events, that all
of them share.
"""

import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from adanalytics_client import Client
from adanalytics_client.dataset import Dataset, Part, Task


def in_processes(tasks: Sequence[Task]) -> Iterable[Part]:
    # A spawned process inherits no locks or connections from this one.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return [*pool.map(Task.run, tasks)]


def with_dask(tasks: Sequence[Task]) -> Iterable[Part]:
    import dask

    # This uses the cluster of a distributed.Client, if there is one.
    parts: Iterable[Part] = dask.compute(*(dask.delayed(task.run)() for task in tasks))
    return parts


def with_ray(tasks: Sequence[Task]) -> Iterable[Part]:
    import ray

    run = ray.remote(Task.run)
    parts: Iterable[Part] = ray.get([run.remote(task) for task in tasks])
    return parts


ENGINES = {"processes": in_processes, "dask": with_dask, "ray": with_ray}


def main(engine: str, start: str, end: str, folder: str = "events") -> None:
    dataset = Dataset(folder)
    with Client.from_env() as client:
        tasks = dataset.tasks(client, start, end)
        report = dataset.commit(client, ENGINES[engine](tasks))
    print(f"{report.events} events, {report.left} hours are missing")
    for failed in report.failed:
        print(f"{failed.query}: {failed.message}")


# The guard is needed for engines whose processes import this program.
if __name__ == "__main__":
    main(*sys.argv[1:])
