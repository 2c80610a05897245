"""Policies where users differ, and what fairness to the worst user costs at least."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gangsched as gs
from gangsched.analysis.comparing.sharing_frontier import sharing_frontier
from gangsched.analysis.show.columns import floored
from gangsched.analysis.show.conditions import Conditions, left_out, rules_in_words
from gangsched.analysis.show.plots import save
from gangsched.formulations import SharingIncentive
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances import Cluster, Instance, Job, User, generate
from gangsched.instances.convert import to_instance
from gangsched.instances.traces import read_chronus, read_itp, read_philly_csv
from gangsched.solvers.policy import Rules
from pages import DOCS, TRACES, known_to, put, table

POLICIES = ("srtf", "ltgf", "smallest-area", "isolation-area")
READINGS = ("sharing", "wait", "stretch")


def nodes_of_8(number: int) -> Cluster:
    return Cluster.of_sizes([8] * number)


def merged(name: str, users: dict[str, list[Job]], load: float) -> Instance[Job]:
    """The jobs of several logs, each from its first submission, as users of a cluster for them."""
    jobs: list[Job] = []
    for user, own in users.items():
        since = min(job.release for job in own)
        jobs += [
            replace(job, id=f"{user}-{job.id}", user=user, release=job.release - since)
            for job in own
        ]
    jobs.sort(key=lambda job: job.release)
    gpu_time = sum(job.gpus * job.work for job in jobs)
    nodes = round(gpu_time / load / jobs[-1].release / 8)
    weights = [User(u, float(sum(job.gpus for job in jobs if job.user == u))) for u in users]
    return Instance(nodes_of_8(nodes), jobs, weights, name=name)


def philly(nodes: int) -> Instance[Any]:
    return to_instance(read_philly_csv(TRACES / "philly/philly.csv.gz"), nodes_of_8(nodes)).instance


def lanes() -> Iterator[tuple[str, Instance[Any]]]:
    """Yield instances with a name."""
    for nodes in (40, 34):
        yield f"Philly, {8 * nodes} GPUs", philly(nodes)
    users: dict[str, list[Job]] = {}
    for job in read_chronus(TRACES / "chronus/trace_job_Philly_SLO.csv.gz").jobs:
        plain = Job(id=job.id, gpus=job.gpus, work=job.work, release=job.release)
        users.setdefault(job.user, []).append(plain)
    yield "Philly as of Chronus", merged("chronus", users, 0.9)
    files = sorted((TRACES / "elasticflow_itp/raw").glob("*.csv.gz"))
    logs = {file.name.split(".")[0]: list(read_itp(file).jobs) for file in files}
    yield "ITP, a user for each cluster", merged("itp", logs, 0.9)
    for seed, load in ((0, 0.8), (1, 0.95)):
        made = generate.philly_workload(nodes_of_8(34), jobs=20_000, seed=seed, load=load)
        yield f"`philly_workload`, seed {seed}, load {load}", made


def rows(name: str, instance: Instance[Any]) -> Iterator[list[str]]:
    """Yield a line of the table for each policy, and what none can be below."""
    problems = [SharingIncentive(instance, reading) for reading in READINGS]
    jobs, users = len(instance.jobs), len(problems[0].members)
    gpu_time = sum(job.gpus * job.work for job in instance.jobs)
    load = gpu_time / instance.cluster.gpus / max(job.release for job in instance.jobs)
    head = f"{name}: {jobs:,} jobs, {users} users, load {load:.2f}"
    for label in POLICIES:
        flows = problems[0].flows_of(gs.drive(instance, label).records.end.tolist())
        worst = (float(max(problem.ratios(flows).values())) for problem in problems)
        mean = sum(flows.values()) / jobs / 3600
        yield [head, label, f"{mean:,.2f} h", *(f"{value:,.3f}" for value in worst)]
        head = ""
    flow = CompletionTime(instance, "flow")
    bounded = [flow, *problems]
    mean, *worst = (verified(problem, gs.bound(problem, "standard")) for problem in bounded)
    shown = (f"{floored(value, 3):,.3f}" for value in worst)
    yield ["", "any policy ≥", f"{floored(mean / jobs / 3600, 2):,.2f} h", *shown]


def verified(problem: Any, bound: Any) -> Any:
    """The value of a bound whose certificate holds."""
    gs.verify_bound(problem, bound)
    return bound.value


def comparison(lanes: Iterable[tuple[str, Instance[Any]]]) -> str:
    """The table of policies."""
    below = Conditions(
        information=known_to(POLICIES),
        seeds="none drawn of logs; of `philly_workload` by row",
        excluded=f"{left_out([0])} of those in the table",
        parameters=f"nodes of 8 GPUs, {rules_in_words(Rules())}",
        certificate="any policy ≥ in the table, verified bounds, also for who knows all jobs",
    )
    heads = ["jobs", "policy", "mean completion", *READINGS]
    return f"{table(heads, (row for lane in lanes for row in rows(*lane)), left=2)}\n\n{below}"


def frontiers(instance: Instance[Any], images: Path, **effort: int) -> str:
    """The frontiers of Philly on 320 GPUs: a table, and pictures."""
    runs = {name: gs.drive(instance, name) for name in ("smallest-area", "isolation-area")}
    heads = ["Philly, 320 GPUs", "any schedule", "best found", "bracket", "brackets of the lines"]
    lines, pictures = [], []
    for reading in ("wait", "stretch"):
        found = sharing_frontier(instance, reading, **effort)
        save(found.plot(runs), images / f"user-frontier-{reading}.png", dpi=110)
        best, least = found.schedules[0][0], found.worst.value
        brackets = ", ".join(f"{bracket:.3f}" for bracket in found.brackets())
        cells = [f"≥ {int(1e4 * least) / 1e4:.4f}", f"{best:.4f}", f"{best / least:.3f}", brackets]
        lines.append([f"worst {reading} ratio", *cells])
        picture = f"../images/user-frontier-{reading}.png"
        pictures.append(f"![Mean completion by worst {reading} ratio]({picture})")
    below = Conditions(
        information="all jobs in advance, no policies",
        seeds="none drawn",
        excluded=f"{left_out([0])} of those in the table",
        parameters="320 GPUs as one pool, pauses and moves for free",
        certificate="any schedule in the table, a verified bound",
    )
    return "\n\n".join([table(heads, lines), str(below), *pictures])


def write(page: Path) -> None:
    effort = {"limits": 6, "orders": 30, "rounds": 600}
    put(page, "frontier", frontiers(philly(40), DOCS / "images", **effort))
    put(page, "users", comparison(lanes()))
