"""`gangsched warm-up`: compile once what commands would compile at their first use."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from multiprocessing import active_children, get_context
from typing import Any

import typer

from .. import registry, screen
from ..instances import Cluster, DeadlineJob, Instance, Job, Node, User
from ..instances.cores import cores

Part = tuple[str, ...]
BOUNDS = "bounds", "proofs", "best known schedules", "waits"


def warm_up() -> None:
    """Compile everything once, so that no later command waits."""
    began, done, parts = time.monotonic(), 0, list(_parts())
    if not sys.stderr.isatty():
        typer.echo("gangsched: compiling machine code, which takes a few minutes", err=True)
    with screen.progress_line("compiling") as show, _running(parts) as left:
        for finished in as_completed(left):
            finished.result()
            done += 1
            show(f"compiling: {done} of {len(parts)} parts, {' '.join(left[finished])}")
    typer.echo(f"machine code is ready ({len(parts)} parts, {time.monotonic() - began:.0f} s)")


@contextmanager
def _running(parts: list[Part]) -> Iterator[dict[Future[None], Part]]:
    """Run parts in processes, which are killed if anything fails, and which Ctrl-C passes over.

    It reaches all of a terminal's processes: without that each would write where it was.
    """
    with ProcessPoolExecutor(cores(), mp_context=get_context("spawn")) as pool:
        try:
            with _deferred():
                left = {pool.submit(_run, part): part for part in parts}
            yield left
        except BaseException:
            for process in active_children():
                process.kill()
            raise


@contextmanager
def _deferred() -> Iterator[None]:
    """Keep Ctrl-C for later, and from the processes that begin meanwhile; none is lost."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _parts() -> Iterator[Part]:
    """Bounds, each solver as (problem, name), each policy as (name,); the longest first."""
    yield BOUNDS
    yield from ((name,) for name in registry.POLICIES)
    for stem, entry in registry.PROBLEMS.items():
        yield from ((stem, name) for name in entry.solvers)


def _run(part: Part) -> None:
    """Run a part on something tiny, as machine code."""
    from ..instances.compiled import tier

    with tier("machine code"):
        _run_tiny(part)


def _run_tiny(part: Part) -> None:
    from ..analysis.driving.drive import PolicyError, drive

    if part == BOUNDS:
        from ..analysis.comparing.replay import replay
        from ..analysis.driving.waits import longest_waits

        for instance in _instances():
            found = replay(instance, {"fifo": registry.policy("fifo")[1]}, effort="standard")
            longest_waits(found.runs["fifo"])
        earning = registry.EARNING[0]
        replay(registry.PROBLEMS["irmp"].tiny(), {earning: registry.policy(earning)[1]})
        _run_rare_steps()
    elif len(part) == 2:
        registry.warm_up(*part)
    else:
        alone, *others = _instances()
        for instance in (alone, *others):
            with suppress(ValueError, PolicyError):
                drive(instance, registry.policy(*part)[1])
        if part[0] in registry.EARNING:
            drive(
                registry.PROBLEMS["irmp"].tiny().instance, registry.policy(*part)[1], round_length=1
            )


def _run_rare_steps() -> None:
    """What something tiny does not need: relaxations."""
    from ..analysis.proofs.bound import bound

    for entry in registry.PROBLEMS.values():
        for relax in entry.extras.relaxations.values():
            bound(relax(entry.tiny()))


def _instances() -> Iterator[Instance[Any]]:
    """Three users, two GPU models, deadlines: what bounds and best known schedules differ in."""
    pool = Cluster.of_sizes([2])
    jobs = [Job(id=i, gpus=1, work=60, user=i) for i in "uvw"]
    yield Instance(pool, jobs, [User(i) for i in "uvw"])
    models = Cluster([Node("n", 1, "new"), Node("o", 1, "old")])
    yield Instance(models, [Job(id=i, gpus=1, work=60, speeds={"old": 1, "new": 2}) for i in "ab"])
    yield Instance(pool, [DeadlineJob(id=i, gpus=1, work=60, rewards=[(70, 1.0)]) for i in "ab"])
