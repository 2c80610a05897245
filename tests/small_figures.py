"""The smallest options of each figure of the papers."""

from functools import cache
from typing import Any

import gangsched as gs
from gangsched.analysis.papers.ltgf.figures import Scenario
from gangsched.analysis.papers.unisched.runs import WorkloadSize


@cache
def cases() -> tuple[Scenario, ...]:
    """Two instances of LTGF's figures, which are long by themselves."""
    found = []
    for name, nodes in (("small", 3), ("smaller", 2)):
        cluster = gs.Cluster.uniform(nodes=nodes, gpus_per_node=8)
        jobs = gs.generate.venus_workload(cluster, jobs=60, days=1)
        found.append(Scenario(name, "small", jobs, days=1))
    return tuple(found)


def figure_options() -> dict[str, dict[str, Any]]:
    """The smallest options of each figure."""
    irmp: dict[str, Any] = {"seeds": (0, 1), "processes": 1}
    alone = {**irmp, "seeds": (0,)}
    size = {"default": (8, 10, 3)}
    sizes = {kind: WorkloadSize(nodes=2, jobs=12, days=1) for kind in "HP"}
    small = {"sizes": sizes, "seeds": (0,), "processes": 1}
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
        "unisched:fig10d": {"queues": (20,)}, "unisched:fig11": small, "unisched:fig12": small,
        "irmp:fig4": {"jobs": (4, 8), "servers": (6, 10), "default": (6, 8, 14), **alone},
        "irmp:fig5": {"jobs": (3, 5), "servers": (5, 8), **irmp},
        "irmp:fig6": {"jobs": (3, 5), "servers": (5,), "default": (4, 6, 2), **alone},
        "irmp:fig7": {**size, **alone}, "irmp:fig8": {**size, **irmp},
        "irmp:fig9": {"jobs": (3, 6), "default": (3, 8, 8), **alone},
        "irmp:fig10": {"servers": (5, 8), "default": (5, 8, 5), **alone},
        "irmp:fig11": {"jobs": (8,), "default": (8, 6, 6), "percent": (60, 100, 140), **irmp},
        "irmp:fig12": size, "irmp:fig13": {**size, **irmp},
        "irmp:table2": {"users": (2, 3), "default": (8, 10, 3), **irmp},
        "gandiva_fair:fig1": {}, "gandiva_fair:fig2": {},
        "gandiva_fair:table2": {"seeds": 5, "quanta": (20, 100)}, "gandiva_fair:table3": {},
        "gandiva_fair:surplus": {"markets": 6, "users": (3, 6)},
        **{f"gandiva_fair:fig{k}": {"until": 2 * 3600} for k in (4, 5, 6, 7, 8, 9, 10, 11)},
    }  # fmt: skip
