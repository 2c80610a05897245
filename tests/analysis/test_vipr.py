"""Proofs as VIPR files: a checker that is not ours accepts them, and nothing better."""

import os
import random
import shutil
import subprocess
import tracemalloc
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

import gangsched as gs
from few import but, each_seed, first
from gangsched.analysis.proofs.makespan import area_bound, configuration_bound, dff_bound
from gangsched.analysis.proofs.verify import InvalidCertificate, NoCertificate
from gangsched.analysis.proofs.vipr import WRITERS, vipr_proof
from gangsched.formulations import CompletionTime, RarDdls, UniSched
from gangsched.formulations.io import problem_from_dict
from gangsched.instances import library
from gangsched.solvers import Bound
from tiny import packing

ROOT = Path(__file__).resolve().parents[2]
CORRUPTED = 1_000  # files, of which none may be accepted with a better value


@lru_cache
def checker(folder: Path) -> str | None:
    """Where viprchk is: in $VIPRCHK, on the PATH, or built from its source beside the project."""
    if found := os.environ.get("VIPRCHK") or shutil.which("viprchk"):
        return found
    build = ROOT.parent / "shared" / "tools" / "vipr" / "build"
    if not build.exists() or shutil.which("g++") is None:
        return None
    done = subprocess.run([build, folder], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


@pytest.fixture
def viprchk(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = checker(tmp_path_factory.getbasetemp())
    if found is None:
        pytest.skip("no viprchk, and no g++ or GMP to build it with")
    return found


def accepts(viprchk: str, path: Path, text: str) -> bool:
    """Whether viprchk accepts a file."""
    path.write_text(text, encoding="ascii")
    done = subprocess.run([viprchk, path], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode == 0 and "Successfully verified" in done.stdout


def drawn(seed: int) -> RarDdls:
    rng = random.Random(seed)
    sizes = [rng.choice([1, 2, 4]) for _ in range(rng.randint(1, 3))]
    gangs = [rng.randint(1, min(4, sum(sizes))) for _ in range(rng.randint(1, 8))]
    return packing([rng.randint(1, 12) for _ in gangs], gangs, sizes)


def with_deadlines(seed: int) -> Any:
    rng = random.Random(seed)
    jobs = []
    for i in range(rng.randint(2, 9)):
        rewards = [(rng.randint(600, 5_000), rng.randint(1, 40) * rng.choice([1, 5]))]
        gang, work = rng.randint(1, 4), rng.randint(100, 3_000)
        strict = rewards if rng.random() < 0.8 else []
        jobs.append(gs.DeadlineJob(id=f"j{i}", gpus=gang, work=work, rewards=strict))
    return UniSched(gs.Instance(gs.Cluster.uniform(nodes=2, gpus_per_node=4), jobs))


def proven(text: str) -> str:
    """The relation that a file says it proves."""
    return next(line for line in text.splitlines() if line.startswith("RTP "))


def program(text: str) -> str:
    """What stands above it."""
    return text[: text.index("\nRTP ")]


RINGS = [
    name
    for name, row in library.index().items()
    if row["problem"] == "rar-ddls" and row["jobs"] <= 160
]


@pytest.mark.parametrize("name", but(["rar-a-0"], first(6, RINGS)))
def test_the_library_s_bounds_are_accepted(name: str, viprchk: str, tmp_path: Path) -> None:
    found = library.entry(name)
    problem, bound = problem_from_dict(found.problem), Bound(**found.bound)
    if bound.certificate is None or bound.certificate["kind"] not in WRITERS[RarDdls]:
        bound = gs.bound(problem)
    text = vipr_proof(problem, bound)
    assert accepts(viprchk, tmp_path / "a.vipr", text)
    if proven(text) == "RTP infeas":
        assert bound.certificate is not None
        assert bound.value == bound.certificate["target"] + 1
    else:
        assert proven(text) == f"RTP range {bound.value} inf"


@each_seed(range(12))
def test_every_kind_of_bound_of_a_makespan_is_accepted(
    seed: int, viprchk: str, tmp_path: Path
) -> None:
    problem, kinds = drawn(seed), set()
    for bound in (area_bound(problem), dff_bound(problem), configuration_bound(problem)):
        assert bound.certificate is not None
        kinds.add(bound.certificate["kind"])
        assert accepts(viprchk, tmp_path / "a.vipr", vipr_proof(problem, bound))
    assert kinds <= WRITERS[RarDdls].keys()


def test_a_step_function_and_duals_are_accepted(viprchk: str, tmp_path: Path) -> None:
    """Five jobs of which no two of the three long ones share a GPU."""
    problem = packing([6, 6, 6, 1, 1], sizes=[1, 1])
    step = Bound(12, "dual feasible function", {"kind": "dff", "target": 11, "k": 1, "eps": 0})
    duals = {"kind": "configuration lp", "target": 11, "scale": 1, "duals": [1, 1, 1, 0, 0]}
    for bound in (step, Bound(12, "configuration lp", duals)):
        text = vipr_proof(problem, bound)
        assert proven(text) == "RTP infeas"
        assert accepts(viprchk, tmp_path / "a.vipr", text)


@each_seed(range(12))
def test_prices_of_leases_are_accepted(seed: int, viprchk: str, tmp_path: Path) -> None:
    problem = with_deadlines(seed)
    bound = gs.bound(problem)
    text = vipr_proof(problem, bound)
    assert accepts(viprchk, tmp_path / "a.vipr", text)
    most = float(Fraction(proven(text).split()[-1]))  # objectives are sums of floats
    assert gs.solve(problem, "exact").objective <= most * (1 + 1e-12)
    assert most <= bound.value * (1 + 1e-12)


@pytest.mark.parametrize(
    "jobs", [(), (gs.DeadlineJob(id="a", gpus=1, work=900, rewards=[(60, 5)]),)]
)
def test_a_program_without_options_is_accepted(
    jobs: tuple[gs.DeadlineJob, ...], viprchk: str, tmp_path: Path
) -> None:
    """Nobody is there, or nobody can be in time: the reward is at most 0."""
    problem = UniSched(gs.Instance(gs.Cluster.of_sizes([1]), jobs))
    assert not list(problem.options())
    text = vipr_proof(problem, gs.bound(problem))
    assert proven(text) == "RTP range -inf 0"
    assert accepts(viprchk, tmp_path / "a.vipr", text)


def test_what_viprchk_must_not_believe(viprchk: str, tmp_path: Path) -> None:
    """A file that claims one slot more than it derives."""
    problem = packing([5, 5, 5], sizes=[1, 1])
    text = vipr_proof(problem, area_bound(problem))
    assert accepts(viprchk, tmp_path / "a.vipr", text)
    wrong = text.replace("RTP range 8 inf", "RTP range 9 inf")
    assert wrong != text
    assert not accepts(viprchk, tmp_path / "a.vipr", wrong)
    wrong = wrong.replace("area G 8", "area G 9")
    assert not accepts(viprchk, tmp_path / "a.vipr", wrong)


@pytest.mark.slow
def test_no_corrupted_file_is_accepted_with_a_better_value(viprchk: str, tmp_path: Path) -> None:
    """Where the program is another one, a file is not about these jobs; that is seen by reading."""
    problems = [drawn(seed) for seed in range(6)] + [with_deadlines(seed) for seed in range(4)]
    good = []
    for problem in problems:
        bound = gs.bound(problem)
        good.append((vipr_proof(problem, bound), problem.sense.value))
    step = packing([6, 6, 6, 1, 1], sizes=[1, 1])
    certificate = {"kind": "dff", "target": 11, "k": 1, "eps": 0}
    good.append((vipr_proof(step, Bound(12, "dual feasible function", certificate)), "minimise"))
    refused = 0
    for seed in range(CORRUPTED):
        rng = random.Random(seed)
        text, sense = good[seed % len(good)]
        words = text.split(" ")
        at = rng.randrange(max(0, len(words) - 60), len(words)) if seed % 2 else None
        at = rng.randrange(len(words)) if at is None else at
        word = words[at]
        lines = word.split("\n")
        line = rng.randrange(len(lines))
        try:
            value = Fraction(lines[line])
            lines[line] = str(value + rng.choice([-2, -1, 1, 2, Fraction(1, 3)]))
        except ValueError:
            lines[line] = rng.choice(["G", "L", "E", "OBJ", "0", ""])
        words[at] = "\n".join(lines)
        wrong = " ".join(words)
        if not accepts(viprchk, tmp_path / "a.vipr", wrong) or program(wrong) != program(text):
            refused += 1
            continue
        assert not better(proven(wrong), proven(text), sense), (seed, wrong)
    assert refused > CORRUPTED // 2


def better(claim: str, true: str, sense: str) -> bool:
    """Whether a file claims more than the true one."""
    if true == claim or claim == "RTP range -inf inf":
        return False
    if true == "RTP infeas" or claim == "RTP infeas":
        return claim == "RTP infeas"
    low, high = ((line.split()[2], line.split()[3]) for line in (claim, true))
    side = 0 if sense == "minimise" else 1
    if "inf" in low[side]:
        return False
    return (
        Fraction(low[side]) > Fraction(high[side])
        if side == 0
        else Fraction(low[side]) < Fraction(high[side])
    )


def test_what_has_no_file_is_refused() -> None:
    problem = drawn(0)
    with pytest.raises(NoCertificate, match="no certificate"):
        vipr_proof(problem, Bound(1, "branch and bound"))
    with pytest.raises(InvalidCertificate, match="the certificate proves"):
        vipr_proof(problem, Bound(10**6, "area", {"kind": "area"}))
    jobs = [gs.Job(id="a", gpus=1, work=3)]
    last = CompletionTime(gs.Instance(gs.Cluster.of_sizes([1]), jobs), "makespan")
    with pytest.raises(ValueError, match="no linear program is known for a bound of Completion"):
        vipr_proof(last, Bound(3, "last job", {"kind": "last job", "job": 0}))


def test_a_program_that_is_too_large_is_refused_before_it_is_made() -> None:
    """A million loads of each of the last jobs would take gigabytes before they are counted."""
    lengths = [2**20 + 2**k for k in range(20)]
    problem = packing(lengths, sizes=[1])
    duals = {"kind": "configuration lp", "target": sum(lengths) - 1, "scale": 20, "duals": [1] * 20}
    tracemalloc.start()
    with pytest.raises(ValueError, match="proof: the program has more than 500,000 variables"):
        WRITERS[RarDdls]["configuration lp"](problem, duals)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 200 * 2**20


@each_seed(range(12))
def test_a_file_says_that_it_proves_the_value_of_the_bound(seed: int) -> None:
    """Whether it does so only viprchk can say, which is not everywhere."""
    problem = drawn(seed)
    bound = area_bound(problem)
    assert proven(vipr_proof(problem, bound)) == f"RTP range {bound.value} inf"


def test_the_same_bytes_each_time() -> None:
    problem = drawn(3)
    bound = configuration_bound(problem)
    assert vipr_proof(problem, bound) == vipr_proof(problem, bound)
