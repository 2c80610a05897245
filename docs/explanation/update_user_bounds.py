"""Run policies where users differ, and put the table into ``user-bounds.md``.

Run ``python docs/explanation/update_user_bounds.py FOLDER`` with the folder of the traces (see
``docs/how-to/read-a-trace.md``). Takes some minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gangsched as gs
from gangsched.analysis.comparing import best_known, sharing
from gangsched.analysis.comparing.sharing_frontier import sharing_frontier
from gangsched.analysis.proofs.completion_time import online_bound
from gangsched.analysis.proofs.user_prices import user_bound
from gangsched.analysis.show.columns import floored
from gangsched.analysis.show.plots import save
from gangsched.analysis.show.referee import Referee, left_out, rules_in_words
from gangsched.formulations import SharingIncentive
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances import Cluster, Instance, Job, User, generate
from gangsched.instances.convert import to_instance
from gangsched.instances.traces import read_chronus, read_itp, read_philly_csv
from gangsched.registry import policy
from gangsched.solvers.policy import Rules, information_of

PAGE = Path(__file__).parent / "user-bounds.md"
POLICIES = ("srtf", "ltgf", "smallest-area", "isolation-area")
IMAGES = PAGE.parent.parent / "images"
FRONTIER = "<!-- frontier of update_user_bounds.py -->"
BEGIN, END = "<!-- table of update_user_bounds.py -->", "<!-- end -->"
READINGS = ("sharing", "wait", "stretch")


def merged(name: str, users: dict[str, list[Job]], load: float) -> Instance[Job]:
    """The jobs of several logs, each from its first submission, as users of a cluster for them."""
    jobs: list[Job] = []
    for user, own in users.items():
        since = min(job.release for job in own)
        moved = (
            replace(job, id=f"{user}-{job.id}", user=user, release=job.release - since)
            for job in own
        )
        jobs += moved
    jobs.sort(key=lambda job: job.release)
    gpu_time = sum(job.gpus * job.work for job in jobs)
    nodes = round(gpu_time / load / jobs[-1].release / 8)
    weights = [User(u, float(sum(job.gpus for job in jobs if job.user == u))) for u in users]
    return Instance(Cluster.of_sizes([8] * nodes), jobs, weights, name=name)


def itp(folder: Path) -> dict[str, list[Job]]:
    """Clusters of Microsoft's ITP."""
    files = sorted((folder / "elasticflow_itp/raw").glob("*.csv.gz"))
    return {file.name.split(".")[0]: list(read_itp(file).jobs) for file in files}


def lanes(folder: Path) -> Iterator[tuple[str, Instance[Any]]]:
    """Yield instances with a name."""
    pool = [Cluster.of_sizes([8] * nodes) for nodes in (40, 34)]
    philly = read_philly_csv(folder / "philly/philly.csv.gz")
    for cluster in pool:
        made = to_instance(philly, cluster).instance
        yield f"Philly, {cluster.gpus} GPUs", made
    chronus = read_chronus(folder / "chronus/trace_job_Philly_SLO.csv.gz")
    yield "Philly as of Chronus", chronus_jobs(chronus, 0.9)
    yield "ITP, a user for each cluster", merged("itp", itp(folder), 0.9)
    for seed, load in ((0, 0.8), (1, 0.95)):
        made = generate.philly_workload(pool[1], jobs=20_000, seed=seed, load=load)
        yield f"`philly_workload`, seed {seed}, load {load}", made


def chronus_jobs(trace: Any, load: float) -> Instance[Job]:
    """The jobs of a log without their deadlines."""
    users: dict[str, list[Job]] = {}
    for job in trace.jobs:
        plain = Job(id=job.id, gpus=job.gpus, work=job.work, release=job.release)
        users.setdefault(job.user, []).append(plain)
    return merged("chronus", users, load)


def rows(name: str, instance: Instance[Any]) -> Iterator[str]:
    """Yield a line of the table for each policy."""
    problems = [SharingIncentive(instance, reading) for reading in READINGS]
    gpu_time = sum(job.gpus * job.work for job in instance.jobs)
    load = gpu_time / instance.cluster.gpus / max(job.release for job in instance.jobs)
    head = f"{name}: {len(instance.jobs):,} jobs, {len(problems[0].members)} users, load {load:.2f}"
    for label in POLICIES:
        run = gs.drive(instance, label)
        flows = problems[0].flows_of(run.records.end.tolist())
        worst = [max(problem.ratios(flows).values()) for problem in problems]
        mean = sum(flows.values()) / len(instance.jobs) / 3600
        cells = [f"{mean:,.2f} h", *(f"{float(value):,.3f}" for value in worst)]
        yield f"| {head} | {label} | {' | '.join(cells)} |"
        print(head, label, *cells, flush=True)
        head = ""
    yield f"| {head} | any policy ≥ | {' | '.join(limits(instance))} |"


def limits(instance: Instance[Any]) -> Iterator[str]:
    """Yield what no policy can be below: mean completion, and the worst user's ratios."""
    flow = CompletionTime(instance, "flow")
    bound = online_bound(flow, **best_known.EFFORTS["standard"])
    gs.verify_bound(flow, bound)
    yield f"{floored(bound.value / len(instance.jobs) / 3600, 2):,.2f} h"
    for reading in READINGS:
        problem = SharingIncentive(instance, reading)
        effort: Any = "quick" if reading == "sharing" else "standard"
        bound = user_bound(problem, **sharing.EFFORTS[effort])
        gs.verify_bound(problem, bound)
        yield f"{floored(bound.value, 3):,.3f}"


def settings(certificate: str, information: str = "") -> Referee:
    """Under which settings a table compares: policies, where nothing else is known to whom."""
    told = [name for name in POLICIES if information_of(policy(name)[1]) is not None]
    return Referee(
        information=information or f"told when jobs come: {', '.join(told)}; others use none",
        seeds="none drawn" if information else "none drawn of logs; of `philly_workload` by row",
        excluded=f"{left_out([0])} of those in the table",
        parameters="320 GPUs as one pool, pauses and moves for free"
        if information
        else f"nodes of 8 GPUs, {rules_in_words(Rules())}",
        certificate=certificate,
    )


def frontiers(folder: Path) -> None:
    """Write the frontiers of Philly on 320 GPUs: a table, and pictures."""
    cluster = Cluster.of_sizes([8] * 40)
    instance = to_instance(read_philly_csv(folder / "philly/philly.csv.gz"), cluster).instance
    runs = {name: gs.drive(instance, name) for name in ("smallest-area", "isolation-area")}
    lines = [
        "| Philly, 320 GPUs | any schedule | best found | bracket | brackets of the lines |",
        "|---|--:|--:|--:|---|",
    ]
    pictures = []
    for reading in ("wait", "stretch"):
        found = sharing_frontier(instance, reading, limits=6, orders=30, rounds=600)
        save(found.plot(runs), IMAGES / f"user-frontier-{reading}.png", dpi=110)
        best, least = found.schedules[0][0], found.worst.value
        cells = [f"≥ {int(1e4 * least) / 1e4:.4f}", f"{best:.4f}", f"{best / least:.3f}"]
        cells.append(", ".join(f"{bracket:.3f}" for bracket in found.brackets()))
        lines.append(f"| worst {reading} ratio | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
        picture = f"../images/user-frontier-{reading}.png"
        pictures.append(f"![Mean completion by worst {reading} ratio]({picture})")
        below = settings(
            "any schedule in the table, a verified bound", "all jobs in advance, no policies"
        )
        text = "\n\n".join(["\n".join(lines), str(below), *pictures])
        put(FRONTIER, "<!-- end of frontier -->", text)


def main(folder: Path) -> None:
    """Write tables and pictures."""
    frontiers(folder)
    head = "| jobs | policy | mean completion | sharing | wait | stretch |"
    lines = [head, "|---|---|--:|--:|--:|--:|"]
    for name, instance in lanes(folder):
        lines += rows(name, instance)
    below = settings("any policy ≥ in the table, verified bounds, also for who knows all jobs")
    put(BEGIN, END, "\n".join([*lines, "", str(below)]))


def put(begin: str, end: str, text: str) -> None:
    """Put a text between two lines of the page."""
    before, _, rest = PAGE.read_text("utf-8").partition(begin)
    after = rest.partition(end)[2]
    PAGE.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
