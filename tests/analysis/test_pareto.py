"""Makespan against mean completion: who is beaten, and bounds that no schedule is below."""

from itertools import product
from pathlib import Path

import pytest

import gangsched as gs
from brute_force import every_schedule
from called import called
from few import each_seed
from gangsched.analysis.comparing.pareto import ParetoFront, pareto_front, pooled
from gangsched.analysis.show import plots
from gangsched.analysis.show.pareto_plot import SHIFTS, _box, _overlap, _shifts, pareto_plot
from gangsched.formulations import RarDdls
from gangsched.instances import Cluster, Instance, RingJob
from gangsched.registry import PROBLEMS
from malformed import table
from tiny import tiny

SOLVERS = [name for name in PROBLEMS["rar-ddls"].solvers if name != "exact"]


@each_seed(range(12), plain=4)
def test_no_schedule_is_below_the_bounds(seed: int) -> None:
    problem = tiny(seed)
    front = pareto_front(gs.compare(problem, SOLVERS), "quick")
    assert front.completion is not None
    gs.verify_bound(pooled(problem), front.completion)
    for makespan, mean in front.points.values():
        assert makespan >= front.makespan.value
        assert mean >= front.mean


def test_the_bound_of_the_mean_holds_for_every_schedule() -> None:
    jobs = [
        RingJob(id=str(i), gpus=g, iterations=f, gradient=0.15, base_time=0.01)
        for i, (g, f) in enumerate([(3, 8), (2, 12)])
    ]
    problem = RarDdls(Instance(Cluster.of_sizes([2, 2]), jobs), xi1=1.0, xi2=0.005, alpha=0.5)
    sums = [sum(end) for _, _, end in every_schedule(problem, 9)]
    bound = gs.bound(pooled(problem))
    assert min(sums) >= bound.value > problem.shortest_durations().sum()


def test_who_is_beaten_is_not_on_the_front() -> None:
    front = pareto_front(gs.compare(tiny(3), SOLVERS))
    for (one, a), (other, b) in product(front.points.items(), repeat=2):
        if one in front.front and a != b:
            assert not (b[0] <= a[0] and b[1] <= a[1]), (one, other)
    for name, (makespan, mean) in front.points.items():
        own = (front.points[best] for best in front.front)
        assert name in front.front or any(x <= makespan and y <= mean for x, y in own)


def test_names_cover_neither_names_nor_points() -> None:
    places = {f"solver {i}": (100.0 + i, 50.0 + 2 * (i % 3)) for i in range(6)}
    shifts = _shifts(places)
    assert set(shifts.values()) <= set(SHIFTS)
    boxes = [
        _box(name, x + shifts[name][0], y + shifts[name][1], shifts[name][0])
        for name, (x, y) in places.items()
    ]
    for i, box in enumerate(boxes):
        assert not any(_overlap(box, other) for other in boxes[i + 1 :])
        assert not any(_overlap(box, (x, x, y, y)) for x, y in places.values())


def test_a_picture_has_every_solver_once(tmp_path: Path) -> None:
    front = ParetoFront(
        points={"a": (5.0, 3.0), "same": (5.0, 3.0), "b": (7.0, 2.0), "worse": (8.0, 4.0)},
        front=("a", "b"), makespan=None, completion=None, jobs=2,
    )  # fmt: skip
    plots.save(pareto_plot(front), tmp_path / "front.svg")
    text = (tmp_path / "front.svg").read_text()
    assert [text.count(f">{name}<") for name in ("a, same", "b", "worse")] == [1, 1, 1]


def test_the_command_draws_all_solvers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    args = ("--no-report", "--pareto", "front.svg")
    code, out, _ = called(capsys, "compare", "rar-contention-1", *args)
    assert code == 0
    text = (tmp_path / "front.svg").read_text()
    unplaced = {"sjf-bco:printed"}  # the printed search finds nothing within the horizon
    assert all(name in text for name in SOLVERS if name not in unplaced)
    assert "front.svg" in out


@pytest.mark.parametrize(
    ("args", "reason"),
    table("refused_values")["bad_pictures_are_refused_before_the_work"],
)
def test_bad_pictures_are_refused_before_the_work(
    args: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    picture = "front.pdf" if "must" in reason else "front.svg"
    code, _, err = called(capsys, "compare", *args, "--no-report", "--pareto", picture)
    assert code == 2
    assert reason in err
    assert not list(tmp_path.iterdir())


def test_a_comparison_of_another_problem_has_none() -> None:
    queue = PROBLEMS["unisched"].tiny()
    with pytest.raises(TypeError, match="pareto_front"):
        pareto_front(gs.compare(queue, ["density-greedy"]))
