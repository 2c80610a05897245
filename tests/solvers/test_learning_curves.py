"""The learning-curve ensemble against integrals, simulations and Markov chains of its model."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gangsched.solvers.unisched.learning_curves import CurveEnsemble, ensemble, epochs_at

Floats = NDArray[np.float64]
X = np.arange(1, 101, dtype=float)
MIDDLE = np.sqrt(200.0)  #: of the scales from 0.5 to 400, evenly by their logarithm

#: written a second time, at points of the grid
SHAPES: dict[str, Floats] = {
    "weibull": np.exp(-((X / MIDDLE) ** 1.5)),
    "hill": 1 / (1 + (X / MIDDLE) ** 1.5),
    "pow4": (1 + X / MIDDLE) ** -1.5,
    "pow3": X**-0.75,
    "vapor": 1 - np.exp(-MIDDLE / X),
    "ilog2": np.log(2) / np.log(X + 1),
}


def noisy(seed: int = 3, noise: float = 0.01, epochs: int = 100) -> Floats:
    """A curve that rises towards 0.9 and never mind which family."""
    rng = np.random.default_rng(seed)
    x = np.arange(1, epochs + 1)
    return 0.9 - 0.6 * np.exp(-x / (0.17 * epochs)) + rng.normal(0, noise, epochs)


def predicted(model: CurveEnsemble, curve: Any, target: float, quantile: float = 0.5) -> int:
    """The epochs after which a job will stop."""
    return epochs_at(model.distribution(curve, target), quantile)


# --- recovery ------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", SHAPES)
@pytest.mark.parametrize("epoch", [20, 37, 60])
def test_curves_without_noise_are_continued_exactly(family: str, epoch: int) -> None:
    curve = 0.9 - 0.7 * SHAPES[family]
    target = (curve[epoch - 1] + curve[epoch - 2]) / 2
    model = CurveEnsemble(100)
    assert predicted(model, curve[:8], target) == epoch
    found = model.posterior(curve[:8])
    best = int(np.argmax(found.weight))
    assert model.families[best] == family
    assert found.weight[best] > 0.999
    assert found.asymptote[best] == pytest.approx(0.9, abs=1e-6)
    assert found.slope[best] == pytest.approx(-0.7, abs=1e-6)


def test_the_grid_is_that_of_the_docstring() -> None:
    model = CurveEnsemble(100)
    assert {f: model.families.count(f) for f in SHAPES} == {
        "weibull": 105,
        "hill": 105,
        "pow4": 105,
        "pow3": 7,
        "vapor": 15,
        "ilog2": 1,
    }
    assert model.table.shape == (338, 100)
    assert (np.diff(model.table, axis=1) <= 0).all()
    assert model.table.max() <= 1 + 1e-15
    for family, shape in SHAPES.items():
        rows = model.table[[name == family for name in model.families]]
        assert np.abs(rows - shape).max(axis=1).min() < 1e-12


# --- the posterior -------------------------------------------------------------------------------


def integrated(y: Floats, g: Floats) -> float:
    """The marginal likelihood by quadrature over b0 + b1 mean(g), b1 and log sigma."""
    g = g - g.mean()
    design = np.column_stack([np.ones_like(g), g])
    middle = np.linalg.lstsq(design, y, rcond=None)[0]
    least = np.sqrt(np.sum((y - design @ middle) ** 2) / y.size)
    half = 7 / np.sqrt(np.sum(design**2, axis=0))
    total, u = 0.0, np.linspace(-1, 1, 51)
    for log_sigma in np.linspace(np.log(least) - 1.5, np.log(least) + 4, 111):
        sigma = np.exp(log_sigma)
        level = middle[0] + u * half[0] * sigma
        slope = middle[1] + u * half[1] * sigma
        off = y - level[:, None, None] - slope[None, :, None] * g
        density = np.exp(-0.5 * np.sum((off / sigma) ** 2, axis=2)) / sigma**y.size
        total += float(density.sum() * (half * sigma).prod())
    return total


def test_weights_are_the_integrals_of_the_likelihood() -> None:
    y = noisy(noise=0.02)[:9]
    model = CurveEnsemble(100, bounded=False)
    weight = model.posterior(y).weight
    rows = np.flatnonzero([family == "weibull" for family in model.families])
    rows = rows[np.argsort(-weight[rows])][[0, 3, 10, 20]]
    expected = np.array([integrated(y, model.table[k, :9]) for k in rows])
    ratio = weight[rows] / weight[rows[0]]
    assert ratio == pytest.approx(expected / expected[0], rel=0.01)
    assert ratio.min() < 0.5


def test_each_family_has_the_same_prior() -> None:
    """Of the 105 points of hill and the one of ilog2, weights over likelihoods differ so."""
    y = noisy(noise=0.02)[:9]
    model = CurveEnsemble(100, bounded=False)
    weight = model.posterior(y).weight
    hill = next(k for k in np.argsort(-weight) if model.families[k] == "hill")
    ilog = model.families.index("ilog2")
    likelihood = [integrated(y, model.table[k, :9]) for k in (hill, ilog)]
    assert weight[hill] / weight[ilog] == pytest.approx(
        likelihood[0] / likelihood[1] / 105, rel=0.01
    )


def test_each_grid_point_has_its_least_squares() -> None:
    y, model = noisy()[:12], CurveEnsemble(100)
    told = model.posterior(y)
    for k in np.argsort(-told.weight)[:40]:
        design = np.column_stack([np.ones(12), model.table[k, :12]])
        (b0, b1), squares, *_ = np.linalg.lstsq(design, y, rcond=None)
        assert told.asymptote[k] == pytest.approx(b0)
        assert told.slope[k] == pytest.approx(b1)
        assert told.noise[k] ** 2 == pytest.approx(squares[0] / 10)


def passages(means: Floats, noise: Floats, target: float, seed: int) -> NDArray[np.int64]:
    """Which column first reaches the target, with noise; the last one if none does."""
    rng = np.random.default_rng(seed)
    hit = means + noise[:, None] * rng.standard_normal(means.shape) >= target
    return np.where(hit.any(axis=1), hit.argmax(axis=1), means.shape[1] - 1)


@pytest.mark.parametrize("target", [0.8, 0.88, 0.95])
def test_epochs_are_distributed_as_in_simulations_of_the_posterior(target: float) -> None:
    model, y = CurveEnsemble(100), noisy()[:25]
    told = model.posterior(y)
    rng = np.random.default_rng(1)
    k = rng.choice(told.weight.size, size=20_000, p=told.weight)
    means = told.asymptote[k, None] + told.slope[k, None] * model.table[k, 25:]
    first = 26 + passages(means, told.noise[k], target, seed=2)
    simulated = np.searchsorted(np.sort(first), np.arange(1, 101), side="right") / first.size
    assert np.abs(model.distribution(y, target) - simulated).max() < 0.025


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "seen"), [(3, 15), (4, 25), (5, 15)])
def test_a_markov_chain_over_all_parameters_agrees(seed: int, seen: int) -> None:
    """Of one family: cells of the grid, the curve's first and last known value, and sigma.

    Not for more points: walkers then stay in the cells where they began.
    """
    emcee = pytest.importorskip("emcee")
    y, target = noisy(seed)[:seen], 0.88
    model: Any = CurveEnsemble(100)
    weibull = np.array([family == "weibull" for family in model.families])
    model.log_prior = np.where(weibull, 0.0, -np.inf)
    rows = model.table[weibull]

    def cells(walkers: Floats) -> NDArray[np.int64]:
        places = np.clip(np.floor(walkers[:, :2]), 0, [14, 6]).astype(np.int64)
        return places[:, 0] * 7 + places[:, 1]

    def parameters(walkers: Floats) -> tuple[Floats, Floats, Floats]:
        g = rows[cells(walkers)]
        slope = (walkers[:, 2] - walkers[:, 3]) / (g[:, 0] - g[:, seen - 1])
        return g, walkers[:, 2] - slope * g[:, 0], slope

    def log_density(walkers: Floats) -> Floats:
        s, d, _, _, log_sigma = walkers.T
        inside = (s >= 0) & (s < 15) & (d >= 0) & (d < 7) & (np.abs(log_sigma + 4.5) < 7.5)
        g, b0, b1 = parameters(walkers)
        off = y - b0[:, None] - b1[:, None] * g[:, :seen]
        squares = np.sum(off**2, axis=1) / np.exp(2 * np.clip(log_sigma, -12, 3))
        density = -0.5 * squares - seen * log_sigma - np.log(g[:, 0] - g[:, seen - 1])
        return np.where(inside & (b1 <= 0) & (b0 <= 1.05), density, -np.inf)

    rng = np.random.default_rng(0)
    walkers = np.column_stack(
        [
            rng.uniform(0, 15, 4000),
            rng.uniform(0, 7, 4000),
            y[0] + rng.normal(0, 0.02, 4000),
            y[-1] + rng.normal(0, 0.02, 4000),
            rng.uniform(-5, -3, 4000),
        ]
    )
    walkers = walkers[np.isfinite(log_density(walkers))][:100]
    sampler = emcee.EnsembleSampler(100, 5, log_density, vectorize=True)
    sampler.random_state = np.random.RandomState(1).get_state()
    sampler.run_mcmc(walkers, 5000)
    chain = sampler.get_chain(discard=1500, thin=20, flat=True)
    visits = np.bincount(cells(chain), minlength=105) / len(chain)
    weight = model.posterior(y).weight[weibull]
    assert np.abs(weight - visits).sum() / 2 < 0.15
    g, b0, b1 = parameters(chain)
    means = b0[:, None] + b1[:, None] * g[:, seen:]
    first = seen + 1 + passages(means, np.exp(chain[:, 4]), target, seed=2)
    simulated = np.searchsorted(np.sort(first), np.arange(1, 101), side="right") / first.size
    assert np.abs(model.distribution(y, target) - simulated).max() < 0.15
    for quantile in (0.1, 0.25, 0.5, 0.75, 0.9):
        expected = np.quantile(first, quantile)
        assert predicted(model, y, target, quantile) == pytest.approx(expected, rel=0.15)


# --- properties ----------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 50),
    seen=st.integers(4, 90),
    factor=st.floats(0.01, 100),
    shift=st.floats(-10, 10),
)
def test_units_of_the_metric_do_not_matter(
    seed: int, seen: int, factor: float, shift: float
) -> None:
    y, model = noisy(seed), ensemble(100, False)
    known = y[:seen]
    other = factor * known + shift
    assert model.posterior(other).weight == pytest.approx(
        model.posterior(known).weight, rel=1e-4, abs=1e-9
    )
    assert model.distribution(other, factor * 0.85 + shift) == pytest.approx(
        model.distribution(known, 0.85), abs=0.02
    )


@given(seed=st.integers(0, 100), seen=st.integers(0, 60), target=st.floats(0.3, 1.2))
def test_later_quantiles_and_higher_targets_come_later(seed: int, seen: int, target: float) -> None:
    model, y = ensemble(60), noisy(seed, epochs=60)[:seen]
    chance = model.distribution(y, target)
    assert chance.shape == (60,)
    assert (np.diff(chance) >= -1e-12).all()
    assert chance[-1] == 1
    early, median, late = (predicted(model, y, target, q) for q in (0.1, 0.5, 0.9))
    assert 1 <= early <= median <= late <= 60
    if not (y >= target).any():
        assert early > min(seen, 59)
    assert predicted(model, y, target + 0.05) >= median


def test_later_quantiles_do_differ() -> None:
    model, y = CurveEnsemble(100), noisy(4)[:15]
    assert (
        predicted(model, y, 0.85, 0.1)
        < predicted(model, y, 0.85, 0.5)
        < predicted(model, y, 0.85, 0.9)
    )


def test_noise_reaches_a_target_that_the_mean_curve_only_nears() -> None:
    """0.905 is above the asymptote of 0.9, by one standard deviation of the noise."""
    quiet = 0.9 - 0.6 * SHAPES["weibull"]
    curve = quiet + np.random.default_rng(1).normal(0, 0.005, 100)
    assert predicted(CurveEnsemble(100), quiet[:50], 0.905) == 100
    assert 50 < predicted(CurveEnsemble(100), curve[:50], 0.905) < 75


# --- nothing to say ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "curve",
    [
        [],
        [0.1, 0.2, 0.3],
        [0.5] * 10,
        [0.5, 0.4, 0.3, 0.2, 0.1],
        [0.3, 0.9, 1.5, 2.1, 2.7, 3.3],
    ],
    ids=["no points", "three points", "constant", "falling", "beyond the bound"],
)
def test_most_epochs_where_the_curve_says_nothing(curve: list[float]) -> None:
    model = CurveEnsemble(80)
    assert predicted(model, curve, 5.0) == 80
    assert not model.posterior(curve).weight.any()


def test_four_points_do_say_something() -> None:
    assert CurveEnsemble(80).posterior([0.1, 0.2, 0.25, 0.28]).weight.sum() == pytest.approx(1)


def test_a_loss_is_not_bounded_by_one() -> None:
    loss = 4 - 2.4 * SHAPES["hill"]
    target = (loss[39] + loss[38]) / 2
    assert predicted(CurveEnsemble(100, bounded=False), loss[:12], target) == 40
    assert predicted(CurveEnsemble(100), loss[:12], target) == 100


def test_a_target_that_was_reached_is_the_answer() -> None:
    model = CurveEnsemble(20)
    assert predicted(model, [0.1, 0.5, 0.8, 0.7, 0.9, 0.9], 0.8) == 3
    assert predicted(model, np.linspace(0.1, 0.5, 20), 0.8) == 20


def test_the_curve_is_not_changed() -> None:
    y = noisy()[:20]
    before = y.copy()
    CurveEnsemble(100).distribution(y, 0.85)
    assert (y == before).all()
