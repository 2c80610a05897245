"""The papers' claims, and their figures on the smallest instances."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import gangsched as gs

from .plain import contents, drawing, pictures, plain
from .table import ENTRIES, attempt, entry, named


@entry
def theorems(folder: Path) -> Any:
    return [
        {
            "claim": row.claim, "verdict": row.verdict, "tried": row.tried, "failed": row.failed,
            "strict": row.strict, "worst": worst_of(row), "confirmed": row.confirmed,
            "counterexamples": {name: sides(one) for name, one in row.counterexamples.items()},
            "words": f"{crc32(f'{row.source} {row.statement} {row.evidence}'.encode()):08x}",
        }
        for row in gs.theorems.verdicts()
    ]  # fmt: skip


def worst_of(row: Any) -> Any:
    """Both sides in the worst case, but where it is a near tie that differs between machines."""
    return None if row.claim == "nash-fair-share" else sides(row.worst)


def sides(compared: Any) -> Any:
    """Both sides of a claim on a case."""
    return compared and [float(compared.left), compared.relation, float(compared.right)]


@entry
def cases_of_claims(folder: Path) -> Any:
    """Counterexamples of each claim and the first cases drawn, each with its two sides."""
    found = {}
    for name, claim in gs.theorems.CLAIMS.items():
        rng = np.random.default_rng([31, crc32(name.encode())])
        cases = {**claim.counterexamples, **dict.fromkeys("ab", partial(claim.draw, rng))}
        found[name] = {}
        for of, make in cases.items():
            case = make()
            what = list(case.edges) if hasattr(case, "edges") else case
            found[name][of] = [summary(what), sides(claim.check(case))]
    return found


@dataclass(frozen=True)
class Case:
    """Stands for an instance of LTGF's figures, which are long by themselves."""

    name: str
    workload: str
    instance: Any
    days: int = 1
    start: int = 0
    seed: int | None = None

    def on(self, nodes: int) -> Case:
        size = self.instance.cluster.nodes[0].gpus
        cluster = gs.Cluster.uniform(nodes=nodes, gpus_per_node=size)
        return replace(self, instance=replace(self.instance, cluster=cluster))


@cache
def cases() -> tuple[Case, ...]:
    found = []
    for name, nodes in (("small", 3), ("smaller", 2)):
        cluster = gs.Cluster.uniform(nodes=nodes, gpus_per_node=8)
        found.append(Case(name, "small", gs.generate.venus_workload(cluster, jobs=60, days=1)))
    return tuple(found)


def sizes() -> Any:
    """The smallest workloads of UniSched's figures, of the class that these have."""
    figure: Any = gs.reproduce.TARGETS["unisched:fig6"]
    known = signature(getattr(figure, "cells", figure)).parameters["sizes"].default
    few = {"nodes": 2, "jobs": 12, "days": 1}
    return {kind: type(size)(**few) for kind, size in known.items()}


def figure_options() -> dict[str, dict[str, Any]]:
    """The smallest options of each figure; those that are not here take too long, or vary."""
    irmp: dict[str, Any] = {"seeds": (0, 1), "processes": 1}
    alone = {**irmp, "seeds": (0,)}
    size = {"size": (8, 10, 3)}
    small = {"sizes": sizes(), "seeds": (0,), "processes": 1}
    ring: dict[str, Any] = {"seeds": (0,), "variants": ("B",)}
    return {
        "rar_ddls:fig4": ring, "rar_ddls:fig5": ring, "rar_ddls:fig6": ring, "rar_ddls:fig7": ring,
        "ltgf:fig6": {},
        "ltgf:fig9": {"cases": cases(), "leases": (600, 900)},
        "ltgf:fig10": {"cases": cases()}, "ltgf:fig11": {"cases": cases()[:1]},
        "ltgf:fig12": {"cases": cases()}, "ltgf:fig13": {"cases": cases()},
        "ltgf:fig14": {"cases": cases()[:1], "sizes": (1.0, 1.5)},
        "unisched:table3": {"jobs": (16,), "seeds": (0,), "processes": 1},
        "unisched:fig5": {}, "unisched:fig6": small, "unisched:fig7": {**small, "curves": 4},
        "unisched:fig8": small, "unisched:fig9": small,
        "unisched:fig10": {**small, "queues": (20,)},
        "unisched:fig11": small, "unisched:fig12": small,
        "irmp:fig4": {"jobs": (4, 8), "servers": (6, 10), "default": (6, 8), **alone},
        "irmp:fig5": {"jobs": (3, 5), "servers": (5, 8), **irmp},
        "irmp:fig6": {"jobs": (3, 5), "servers": (5,), "default": (4, 6), **alone},
        "irmp:fig7": {**size, **alone}, "irmp:fig8": {**size, **irmp},
        "irmp:fig11": {"jobs": (8,), "servers": 6, "percent": (60, 100, 140), **irmp},
        "irmp:fig12": size, "irmp:fig13": {**size, **irmp},
        "irmp:table2": {"users": (2, 3), "jobs": 8, "servers": 10, **irmp},
        "gandiva_fair:fig1": {}, "gandiva_fair:fig2": {},
        "gandiva_fair:table2": {"seeds": 5, "quanta": (20, 100)}, "gandiva_fair:table3": {},
        "gandiva_fair:surplus": {"markets": 6, "users": (3, 6)},
        **{f"gandiva_fair:fig{k}": {"until": 2 * 3600} for k in (4, 5, 6, 7, 8, 9, 10, 11)},
    }  # fmt: skip


def figure(name: str, folder: Path) -> Any:
    """A figure's data, its statements, and what its picture shows."""
    shown: list[Any] = []
    study = gs.reproduce.TARGETS[name](**figure_options()[name])
    with pictures(shown):
        study.write(folder)
    found = {Path(file).suffix: value for file, value in contents(folder).items()}
    data = found[".json"]
    if name.partition(":")[0] != "rar_ddls":
        data["rows"] = [
            {"instance": row[0], "policy": row[1], "x": row[2], **row[3], "curve": row[4]}
            for row in data["rows"]
        ]
    return {**data, "csv": found[".csv"], "tables": len(study.to_markdown()), "pictures": shown}


DATA = Path(__file__).resolve().parents[2] / "docs" / "papers" / "data"


@entry
def pages_of_figures(folder: Path) -> Any:
    """The figures of the documentation, judged and drawn again from their data."""
    return {name: page_of(name, folder) for name in gs.reproduce.TARGETS}


def page_of(name: str, folder: Path) -> Any:
    """Whether the file comes out again; check sums of tables and picture."""
    known = json.loads((DATA / f"{name.replace(':', '-')}.json").read_text("utf-8"))
    study = restored(name, known)
    again = json.loads(study.to_json())
    shown: list[Any] = []
    with pictures(shown, drawing):
        study.write(folder)
    return {
        "differs in": [key for key in known if again[key] != known[key]],
        "tables": summary(study.to_markdown()), "csv": summary(study.to_csv()), "picture": shown,
    }  # fmt: skip


@entry
def figures_of_other_data(folder: Path) -> Any:
    """What the figures say of data with gaps, and of values that change their places."""
    return {name: [judged(name, way) for way in range(5)] for name in gs.reproduce.TARGETS}


def judged(name: str, way: int) -> str:
    """A check sum of the statements and tables of a figure's rows after a change."""
    known = json.loads((DATA / f"{name.replace(':', '-')}.json").read_text("utf-8"))
    kind = "points" if "points" in known else "rows"
    first = 5 if kind == "points" else 3
    rows, rng = known[kind], np.random.default_rng([37, way])
    if way == 0:
        rows = [lessened(row) if k % 3 == 0 else row for k, row in enumerate(rows)]
    elif way == 1:
        rows = [row for k, row in enumerate(rows) if k % 3]
    elif way < 4:
        order = rng.permutation(len(rows)).tolist()
        rows = [[*rows[k][:first], *rows[other][first:]] for k, other in enumerate(order)]
    if way > 2 and kind == "rows":
        rows = [[*row[:3], exchanged(row[3], rng), row[4]] for row in rows]
    study = attempt(restored, name, {**known, kind: rows})
    if isinstance(study, str):
        return study
    said = json.loads(study.to_json())
    return summary([said.get("statements", said.get("checks")), attempt(study.to_markdown)])


def lessened(row: list[Any]) -> list[Any]:
    """A row without what is known of seeds; a point without its end."""
    if isinstance(row[3], dict):
        return [*row[:3], {k: v for k, v in row[3].items() if k[-1:] != "]"}, row[4]]
    return [*row[:6], None, None]


def exchanged(values: dict[str, Any], rng: Any) -> dict[str, Any]:
    """Values whose seeds change their places."""
    found = dict(values)
    for measure in dict.fromkeys(name.partition(" [")[0] for name in values):
        names = [name for name in values if name.startswith(f"{measure} [")]
        for k, name in zip(rng.permutation(len(names)).tolist(), names, strict=True):
            found[name] = values[names[k]]
    return found


def restored(name: str, known: Any) -> Any:
    """The figure with the rows of its file, by the functions of today or of 2e519fe."""
    if "points" in known:
        points = [gs.reproduce.Point(*row) for row in known["points"]]
        return named("from_points")(name, points)
    today = getattr(gs.reproduce, "from_rows", None)
    row_of = gs.reproduce.FigureRow if today else gs.reproduce.Row
    rows = [row_of(*row[:4], tuple(row[4])) for row in known["rows"]]
    old: Any = sys.modules[gs.reproduce.TARGETS[name].__module__]
    return (today or old.from_rows)(name, known["instances"], rows)


def summary(data: Any) -> str:
    """A check sum of plain data."""
    return f"{crc32(json.dumps(plain(data), sort_keys=True).encode()):08x}"


def timed(name: str, options: dict[str, Any], folder: Path) -> Any:
    """A figure whose values are seconds: what else it says."""
    study = gs.reproduce.TARGETS[name](**options)
    shown: list[Any] = []
    with pictures(shown):
        study.write(folder)
    rows = [[row.instance, row.policy, row.x, sorted(row.values)] for row in study.rows]
    return {
        "rows": rows, "instances": study.instances, "texts": [s.text for s in study.statements],
        "axes": len(shown[0]["axes"]), "settings": study.settings,
    }  # fmt: skip


def of_a_trace(name: str, options: dict[str, Any], folder: Path) -> Any:
    """A figure of a drawn log besides the synthetic jobs."""
    rng = np.random.default_rng(4)
    rows = ["timestamp,duration,num_gpus,cluster"]
    for at in sorted(rng.integers(0, 130_000, 400).tolist()):
        day, clock = divmod(at, 86_400)
        time = f"2017-10-{3 + day:02d} {clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
        rows.append(f"{time},{rng.integers(60, 9000)},{rng.integers(1, 9)},vc{rng.integers(3)}")
    (folder / "log.csv").write_text("\n".join(rows) + "\n", "utf-8")
    trace = gs.traces.read_philly_csv(folder / "log.csv")
    study = gs.reproduce.TARGETS[name](**options, trace=trace)
    return {"facts": study.instances, "rows": [[row.instance, *row.values.values()]
                                               for row in study.rows]}  # fmt: skip


_FEW: dict[str, Any] = {"seeds": (0,), "processes": 1}
ENTRIES["figure_of_a_trace"] = partial(
    of_a_trace, "irmp:table2", {"users": (2,), "jobs": 6, "servers": 8, **_FEW}
)
for _target, _options in (
    ("irmp:fig9", {"jobs": (3, 6), "servers": 8, "seeds": (0,)}),
    ("irmp:fig10", {"servers": (5, 8), "jobs": 5, "seeds": (0,)}),
    ("unisched:fig10d", {"queues": (20, 40)}),
):
    ENTRIES[f"figure_{_target.replace(':', '_')}"] = partial(timed, _target, _options)
for _target in figure_options():
    ENTRIES[f"figure_{_target.replace(':', '_')}"] = partial(figure, _target)
