"""What Chaudhary et al. say of Tables 2 and 3 and Figs. 1, 2 and 4 to 11, judged by a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..study import Agreement, FigureRow, Statement, Study
from ..verdicts import judged

ALL = "all"
BACKFILL, UNDIVIDED = "lottery plus backfilling", "the same, tickets not divided by GPUs"
LOTTERY, STRIDE = "gang-aware lottery", "gang-aware stride"
FAIR, TRADED, DRIVEN = "fair shares", "trading", "trading, on the driver"
LP, MAX_MIN, NASH = "largest total", "max-min", "Nash welfare"
#: Table 2 as printed, in % of the time
PRINTED_SHARES: Mapping[str, tuple[float, ...]] = {
    BACKFILL: (71.8, 71.8, 36.7, 36.7, 12.4, 11.4),
    LOTTERY: (66, 66.5, 46, 24, 20, 12),
    STRIDE: (66.7, 66.7, 33.3, 33.3, 16.7, 16.7),
}
#: how users are named in the table of classes of section 5.3, by the GPUs of their jobs
CLASSES = {1: "62 with 1 GPU", 2: "3 with 2 GPUs", 4: "3 with 4 GPUs", 8: "2 with 8 GPUs"}
#: of Fig. 8: both runs over the same time
BOTH = "mean"
GANGS = (1, 1, 2, 2, 4, 4)
FAIR_TIME = (200 / 3, 200 / 3, 100 / 3, 100 / 3, 50 / 3, 50 / 3)  # % of each job in Table 2
GAINS: Mapping[str, str] = {f"gain {k}": f"User{k} gains (%)" for k in range(1, 5)}
MOMENTS: Mapping[str, str] = {"busy": "jobs for its share until (h)", "end": "last job ends (h)"}
#: entries of the log that the page shows
SAMPLE = 12
#: Fig. 9: time, what is bought, by whom, what is sold, by whom, rate
PRINTED_LOG = (
    ("15:09", "v100", "User1", "k80", "User4", 1.71),
    ("15:11", "v100", "User1", "k80", "User3", 1.94),
    ("15:29", "p100", "User2", "k80", "User4", 3.42),
    ("15:31", "p100", "User2", "k80", "User4", 3.43),
    ("18:06", "p100", "User1", "k80", "User3", -1.49),
    ("18:06", "v100", "User1", "k80", "User2", -1.93),
    ("18:06", "v100", "User1", "k80", "User3", -1.94),
    ("18:07", "v100", "User2", "k80", "User4", 1.50),
    ("18:23", "v100", "User3", "p100", "User2", 1.00),
    ("18:25", "v100", "User3", "p100", "User2", 1.00),
)
#: Table 1, of the jobs of Fig. 9: ResNet-50 of User1 to User3, SuperResolution of User4
RESNET = {"k80": 1.0, "p100": 3.34, "v100": 5.14}
SUPER = {"k80": 1.0, "p100": 1.73, "v100": 1.87}

#: of a share that is printed or ideal: relative
CLOSE = 0.05
EXACT = 1e-4
SHORT_RUN = "not all was run"


def ideal(name: str) -> str:
    """Return how the ideal share of a user is named."""
    return f"{name}, ideal"


def close(measured: float, due: float, within: float = CLOSE) -> bool:
    """Say whether a number is relatively close to another one."""
    return abs(measured - due) <= within * abs(due)


def all_close(found: Sequence[float], due: Sequence[float], within: float = CLOSE) -> bool:
    """Say whether all numbers are close to others."""
    return all(close(a, b, within) for a, b in zip(found, due, strict=True))


def missing(text: str, instance: str) -> Statement:
    """Return a statement on what was not run."""
    return Statement(text, instance, Agreement.OPEN, "none", SHORT_RUN)


def number(value: float | None) -> float:
    """Return a number, nan where there is none."""
    return float("nan") if value is None else value


# --- Figs. 1 and 2 --------------------------------------------------------------------------------


def _listed(values: Sequence[float], unit: str = "") -> str:
    return ", ".join(f"{value:.2f}" for value in values) + unit


def fig1(study: Study) -> Iterator[Statement]:
    """Judge section 2.1 by Fig. 1."""
    (place,) = study.instances
    policies = [row.policy for row in study.rows if "A" in row.values]
    key = {name.split(" ")[0]: name for name in policies}

    def gpus(option: str, names: Sequence[str] = "ABC") -> list[float]:
        return [number(study.value(place, key[option], name)) for name in names]

    def holds(
        text: str, option: str, due: Sequence[float], why: str = "", own: bool = False
    ) -> Statement:
        found = gpus(option)
        measured = f"A, B, C {_listed(found)}"
        return judged(text, place, all_close(found, due, EXACT), measured, why, own=own)

    yield holds("(a): C waits; A and B have 4 GPUs each", "(a)", (4, 4, 0))
    yield holds("(b): one user has 4 GPUs, the other two have 2 each", "(b)", (4, 2, 2))
    slices = (10 / 3, 10 / 3, 4 / 3)
    yield holds("(c): with equal time slices on a server, C has 4/3 GPUs", "(c)", slices)
    yield holds("(d): A and B have 3 GPUs each, C has 2: fair to users", "(d)", (3, 3, 2))
    jobs = gpus("(d)", ("A1", "A2", "B1", "B2"))
    yield judged("(d): one job of A has 2 GPUs, another one 1: not fair to jobs", place,
                 [round(x, 4) for x in sorted(jobs)] == [1, 1, 2, 2], _listed(jobs))  # fmt: skip
    yield holds(
        "Gandiva_fair allocates GPUs as in (d)", "(d')", (3, 3, 2),
        "in (d) the loads (2) of the servers are 1.25 and 0.75, so that a job migrates; then three "
        "jobs share one server and two have the other",
    )  # fmt: skip
    yield holds(
        "it does if no job migrates", "(d'')", (3, 3, 2),
        "effective tickets, 3, 3 and 2, give C 1.6 to 1.7 GPUs on a server with two other jobs; "
        "printed tickets give it 2", own=True,
    )  # fmt: skip
    yield holds("(e): A and B have 3 GPUs each, C has 2", "(e)", (3, 3, 2))
    jobs = gpus("(e)", ("A1", "A2", "B1", "B2"))
    even = all_close(jobs, [1.5] * 4, EXACT)
    yield judged("(e): each job of A and B has 1.5 GPUs", place, even, _listed(jobs))
    moves = {option: number(study.value(place, key[option], "moves")) for option in ("(d)", "(e)")}
    yield judged("(e) needs migrations, (d) none", place, moves["(d)"] == 0 < moves["(e)"],
                 f"(d) {moves['(d)']:.0f}, (e) {moves['(e)']:.0f} in 24 quanta")  # fmt: skip


def fig2(study: Study) -> Iterator[Statement]:
    """Judge what section 2.1 wants of Fig. 2, and the example of section 3.1."""
    for place in study.instances:
        rows = [row for row in study.rows if row.instance == place and "gpus" in row.values]
        *users, everybody = rows
        shares = [number(row.values["gpus"]) for row in users]
        idle = 8 - number(everybody.values["gpus"])
        listed = ", ".join(f"{r.policy[0]} {x:.2f}" for r, x in zip(users, shares, strict=True))
        yield judged(
            "each of six users has its fair share, 1.33 GPUs", place,
            all(close(x, 4 / 3) for x in shares), listed,
            f"{idle:.2f} of 8 GPUs idle: gangs do not pack where the balancer puts them"
            if idle > EXACT else
            "three users share the first server and two the second one, and nobody moves",
        )  # fmt: skip
        yield judged("no GPU idles", place, idle <= EXACT, f"{idle:.2f} idle",
                     "gangs of 1, 2, 2, 4 and 4 share a server: 1 and 2 leave a GPU")  # fmt: skip
        same = [number(row.values["gpus"]) for row in users[:3]]
        equal = max(same) <= min(same) * (1 + CLOSE)
        yield judged("A, B and C have equal shares", place, equal, listed,
                     "narrow gangs more often fit on GPUs that would idle")  # fmt: skip
        lines = [row for row in study.rows if row.instance == place and row.curve]
        wide = next(row for row in lines if row.values["gang"] == 8)
        runs = [value for value in wide.curve if value]
        text = "the 8-GPU job runs on both servers in the same quantum"
        measured = f"{len(runs)} of {len(wide.curve)} quanta"
        yield judged(text, place, bool(runs) and set(runs) == {3.0}, measured)


# --- tables ---------------------------------------------------------------------------------------


def table2(study: Study) -> Iterator[Statement]:
    """Judge section 3.1 by Table 2."""

    def column(scheme: str, measure: str) -> list[float]:
        return [number(r.values.get(measure)) for r in study.rows if r.instance == scheme]

    for scheme in (BACKFILL, UNDIVIDED):
        exact = column(scheme, "exact")
        printed = list(PRINTED_SHARES[BACKFILL])
        yield judged(
            "backfilling gives about 72, 37 and 12 % of the time", scheme,
            all_close(exact, printed), _listed(exact, " %"),
            "no GPU idles here, but what is printed adds up to "
            f"{sum(p * g for p, g in zip(printed, GANGS, strict=True)) / 4:.1f} % of the server",
        )  # fmt: skip
        yield judged("it is unfair to jobs with 4 GPUs", scheme, exact[-1] < 50 / 3 - EXACT,
                     f"{exact[-1]:.1f} % where 16.7 % are fair",
                     "they get their part, and those with 1 GPU less than theirs")  # fmt: skip
    exact, spread, long = (column(LOTTERY, m) for m in ("drawn", "spread", "long"))
    yield judged("it is fairer than backfilling", LOTTERY,
                 max(abs(a - b) for a, b in zip(exact, column(STRIDE, "exact"), strict=True))
                 < abs(column(BACKFILL, "exact")[-1] - 50 / 3), _listed(exact, " %"))  # fmt: skip
    short, longer = (f"standard deviations {_listed(own, ' points')}" for own in (spread, long))
    yield judged("it is unbalanced over 100 intervals", LOTTERY, max(spread) > 3, short)
    yield judged("it is fair over 1,000 intervals", LOTTERY, max(long) < 2, longer)
    exact = column(STRIDE, "exact")
    yield judged("66.7, 33.3 and 16.7 % in 6 intervals", STRIDE, all_close(exact, FAIR_TIME, 1e-5),
                 _listed(exact, " %"))  # fmt: skip


def table3(study: Study) -> Iterator[Statement]:
    """Judge section 3.4 by Table 3."""

    def values(name: str, measure: str = "value") -> list[float]:
        return [number(study.value(name, user, measure)) for user in "ABC"]

    def total(name: str) -> float:
        return number(study.value(name, ALL, "value"))

    text = "fair shares of 20 K80s and 4 V100s are worth 25, 40 and 45"
    yield judged(text, FAIR, values(FAIR) == [25, 40, 45], _listed(values(FAIR)))
    text = "after four trades A has 40 K80s, C 8 V100s: worth 40, 40 and 50"
    yield judged(text, TRADED, values(TRADED) == [40, 40, 50], _listed(values(TRADED)))
    near = all_close(values(DRIVEN), (40, 40, 50), 0.01)
    yield judged(text, DRIVEN, near, _listed(values(DRIVEN)))
    text = "both users of the trade gain, nobody loses"
    before = values(FAIR)
    for name, least in ((TRADED, 1.0), (DRIVEN, 0.99)):
        pairs = list(zip(values(name), before, strict=True))
        gains = [100 * (a / b - 1) for a, b in pairs]
        holds = all(a >= b * least for a, b in pairs) and min(gains[0], gains[2]) > 0
        yield judged(text, name, holds, _listed(gains, " %"))
    part = number(study.value(TRADED, ALL, "captured"))
    yield judged(
        "overall efficiency is maximised", TRADED, total(TRADED) >= total(LP) * (1 - EXACT),
        f"{total(TRADED):.2f} of at most {total(LP):.2f}, {100 * part:.1f} % of the surplus",
        "C pays 5 K80s for what A would sell for 1.25, and has none left after four trades",
    )  # fmt: skip
    bound = number(study.value(LP, ALL, "bound"))
    yield judged("no division with everybody at its fair share or above has a larger total", LP,
                 close(total(LP), bound, 1e-9), f"{total(LP):.2f}, proven {bound:.2f}",
                 own=True)  # fmt: skip
    best, got = (min(a / b for a, b in zip(values(n), before, strict=True))
                 for n in (MAX_MIN, TRADED))  # fmt: skip
    yield judged("everybody can gain as much as the least does", MAX_MIN, best > got,
                 f"{100 * (best - 1):.1f} % each, {100 * (got - 1):.1f} % by trading",
                 own=True)  # fmt: skip
    same = all_close(values(NASH), values(TRADED), 1e-6)
    yield judged("the competitive equilibrium is what trading gives", NASH, same,
                 _listed(values(NASH)), own=True)  # fmt: skip


def surplus(study: Study) -> Iterator[Statement]:
    """Judge section 3.4 by random markets."""

    def of(place: str, rule: str, measure: str = "mean") -> list[float]:
        return [number(study.value(place, rule, measure, x)) for x in study.xs(place)]

    for place in study.instances:
        second, least = of(place, "second"), of(place, "second", "least")
        yield judged("trading maximises efficiency", place, min(second) > 1 - EXACT,
                     f"{_listed(second)} of the surplus, at least {min(least):.2f}",
                     "prices above the seller's ratio leave buyers without slow GPUs")  # fmt: skip
        worst = of(place, "second", "worst")
        gains = _listed([100 * (w - 1) for w in worst], " %")
        yield judged("who gains least has its fair share or more, on average", place,
                     min(worst) >= 1 - 1e-9, f"gains {gains}")  # fmt: skip
        half, all_bids = of(place, "midpoint"), of(place, "second-of-all")
        yield judged("halfway prices capture more than second prices, of ten users and more", place,
                     all(a > b for a, b, x in zip(half, second, study.xs(place), strict=True)
                         if x >= 10), f"{_listed(half)} and {_listed(second)}",
                     own=True)  # fmt: skip
        yield judged(
            "who has no slow GPUs left must not set the price", place,
            all(a < b for a, b in zip(all_bids, second, strict=True)),
            f"{_listed(all_bids)} where it does", own=True,
        )  # fmt: skip


# --- GPUs over time -------------------------------------------------------------------------------


#: GPUs that users should have; None: the ideal share of the run
Due = Mapping[str, float | None]
THREE = ("User1", "User2", "User3")


def _rows(study: Study, place: str, name: str) -> dict[int, FigureRow]:
    rows = (row for row in study.rows if (row.instance, row.policy) == (place, name))
    return {row.x: row for row in rows if row.x is not None}


def _near(
    study: Study, text: str, place: str, phase: int, due: Due, within: float = CLOSE, why: str = ""
) -> Statement:
    """Judge "these users have these GPUs in this phase"."""
    held, missed = [], False
    for name, printed in due.items():
        row = _rows(study, place, name).get(phase)
        if row is None:
            return missing(text, place)
        gpus, share = (number(row.values[m]) for m in ("gpus", "ideal"))
        want = share if printed is None else printed
        missed |= not close(gpus, want, within)
        held.append(f"{name} {gpus:.2f} (ideal {share:.2f})" if printed is None
                    else f"{name} {gpus:.2f}")  # fmt: skip
    return judged(text, place, not missed, ", ".join(held), why)


def _ends(
    study: Study, text: str, place: str, names: Sequence[str], due: float, why: str = ""
) -> Statement:
    """Judge "jobs of these users complete after so many hours", by when few are left."""
    found = [[number(study.value(place, n, m)) for m in ("busy", "end")] for n in names]
    measured = ", ".join(f"few left at {busy:.2f} h, none at {end:.2f} h" for busy, end in found)
    return judged(text, place, all(close(busy, due) for busy, _ in found), measured, why)


def fig4(study: Study) -> Iterator[Statement]:
    """Judge section 5.1."""
    (place,) = study.instances
    each = dict.fromkeys(THREE, 4 / 3)
    yield _near(study, "each user has its ideal share of 1.33 GPUs", place, 1, each)
    text = "jobs of User1 and User3 complete after about four hours"
    yield _ends(study, text, place, ("User1", "User3"), 4)
    yield _near(study, "then User2 has all 4 GPUs", place, 2, {"User2": 4})


def fig5(study: Study) -> Iterator[Statement]:
    """Judge section 5.2."""
    (place,) = study.instances
    each = dict.fromkeys(THREE, 8 / 3)
    yield _near(study, "each user has its ideal share of 2.66 GPUs", place, 1, each)
    text = "the job of User1 completes after about an hour and a half"
    yield _ends(study, text, place, ("User1",), 1.5)
    both = {"User2": 4, "User3": 4}
    yield _near(study, "then User2 and User3 have 4 GPUs each", place, 2, both)


def fig6(study: Study) -> Iterator[Statement]:
    """Judge section 5.3's first experiment."""
    (place,) = study.instances
    names = [p for p in study.policies if p != ALL and not p.endswith(", ideal")]
    few = "a job of 4 GPUs and three of 1 on a server take turns, so that each has 1/2 and not 3/5"
    text = "each class of users has close to its fair share"
    yield _near(study, text, place, 1, dict.fromkeys(names), 0.1, few)
    text = "after the 8-GPU jobs the others have their fair share of all"
    yield _near(study, text, place, 2, dict.fromkeys(names[:-1]), 0.1, few)
    text = "in total close to 48 GPUs are used, with momentary dips only"
    yield _all_used(study, text, place, 48, slice(2), "not all servers have gangs that pack")


def _all_used(
    study: Study, text: str, place: str, gpus: int, phases: slice = slice(None), why: str = ""
) -> Statement:
    """Judge "nearly all GPUs are used"."""
    total = [number(row.values["gpus"]) for row in _rows(study, place, ALL).values()][phases]
    return judged(text, place, bool(total) and min(total) > 0.95 * gpus, _listed(total), why)


def fig7(study: Study) -> Iterator[Statement]:
    """Judge section 5.3's second experiment."""
    (place,) = study.instances
    each = dict.fromkeys(THREE, 64 / 3)
    yield _near(study, "each user has about 21.3 GPUs", place, 1, each, 0.1)
    yield _any_bin(study, place)
    text = "after about an hour jobs of User3 start finishing"
    why = "no GPU idles, and what wide gangs leave goes to narrower ones"
    yield _ends(study, text, place, ("User3",), 1, why)
    both = {"User1": 32, "User2": 32}
    yield _near(study, "then User1 and User2 have 32 GPUs each on average", place, 2, both, 0.1)
    text = "jobs of User1 are complete after about four hours"
    yield _ends(study, text, place, ("User1",), 4)
    text = "then User3 has all (read: User2, as User3 has gone)"
    yield _near(study, text, place, 3, {"User2": 64})
    yield _all_used(study, "in total close to 64 GPUs are used throughout", place, 64)


def _any_bin(study: Study, place: str) -> Statement:
    """What users have in ten minutes, while all three are there."""
    text = "each user has its share in any ten minutes"
    row = _rows(study, place, "User1").get(1)
    if row is None:
        return missing(text, place)
    until = number(row.values["until"]) - 1 / 12
    found = [
        gpus
        for r in study.rows
        if r.curve and r.policy in THREE
        for hour, gpus in zip(study.levels, r.curve, strict=True)
        if hour <= until
    ]
    return judged(text, place, all(close(g, 64 / 3, 0.1) for g in found),
                  f"{min(found):.1f} to {max(found):.1f} GPUs",
                  "all jobs begin with the same pass, and one of User2 runs in one of 24 quanta",
                  own=True)  # fmt: skip


def _by_model(study: Study) -> dict[str, str]:
    """Instances of a figure by model."""
    return {name.split(" ")[1].removesuffix("s"): name for name in study.instances}


def fig10(study: Study) -> Iterator[Statement]:
    """Judge section 5.4."""
    users = [f"User{k}" for k in range(1, 5)]
    due = {"V100": (3, 4, "4"), "P100": (6, 8, "8"), "K80": (16, 64 / 3, "21.3")}
    few = "many jobs of one length end in this time, each within a quantum, and its GPUs idle in it"
    for model, place in _by_model(study).items():
        first, second, later = due[model]
        text = f"four users have equal shares: {first} {model}s"
        yield _near(study, text, place, 1, dict.fromkeys(users, first), 0.1)
        text = f"after User1 three users have equal shares: about {later} {model}s"
        yield _next_hour(study, text, place, second)
        text = "and keep them until one of them has few jobs left"
        kept = _near(study, text, place, 2, dict.fromkeys(users[1:], second), 0.1, few)
        yield replace(kept, in_paper=False)
    place = next(iter(study.instances))
    yield _ends(study, "jobs of User1 finish after four hours", place, ("User1",), 4)


def _next_hour(study: Study, text: str, place: str, due: float) -> Statement:
    """What User2 to User4 have in the hour after User1 has gone."""
    gone = number(study.value(place, "User1", "end"))
    held = {
        row.policy: [g for hour, g in zip(study.levels, row.curve, strict=True)
                     if gone <= hour < gone + 1]
        for row in study.rows
        if row.instance == place and row.curve and row.policy in ("User2", "User3", "User4")
    }  # fmt: skip
    if 2 not in _rows(study, place, "User2") or not all(held.values()):
        return missing(text, place)
    means = {user: sum(gpus) / len(gpus) for user, gpus in held.items()}
    return judged(text, place, all(close(mean, due, 0.15) for mean in means.values()),
                  ", ".join(f"{user} {mean:.2f}" for user, mean in means.items())
                  + " in the next hour")  # fmt: skip


def fig11(study: Study) -> Iterator[Statement]:
    """Judge section 5.5 by Fig. 11."""
    due = {"V100": 3.0, "P100": 6.0, "K80": 16.0}
    for model, place in _by_model(study).items():
        shares = {k: _rows(study, place, f"User{k}").get(1) for k in range(1, 5)}
        gpus = {f"User{k}": number(row.values["gpus"]) for k, row in shares.items() if row}
        listed = ", ".join(f"{user} {value:.1f}" for user, value in gpus.items())
        text = "shares diverge from the fair ones by trades"
        if not gpus:
            yield missing(text, place)
            continue
        yield judged(text, place, any(not close(v, due[model], 0.25) for v in gpus.values()),
                     f"{listed}; fair {due[model]:.0f} each")  # fmt: skip
        rows = (row for row in study.rows if row.instance == place and row.policy in gpus)
        curves = [row.curve for row in rows if row.curve]
        starts = [curve[0] for curve in curves]
        yield judged("users start with roughly their fair share", place,
                     all(close(v, due[model], 0.25) for v in starts),
                     f"{_listed(starts)} in the first ten minutes",
                     "profiles are complete after two quanta, and trades begin then")  # fmt: skip
        peak = max(map(max, curves))
        text = "single users have more GPUs of a model than without trades"
        yield judged(text, place, peak > 1.25 * due[model] * 4 / 3, f"{peak:.1f} at most")


# --- Figs. 8 and 9 --------------------------------------------------------------------------------


def fig8(study: Study) -> Iterator[Statement]:
    """Judge sections 5.4 and 5.5 by Fig. 8."""
    gains = {
        row.instance: number(row.values["gain"])
        for row in study.rows
        if row.x == 1 and "gain" in row.values
    }
    text = "net performance improves or remains the same"
    why = "its shares are worth as much as before, but gangs do not pack"
    for user, gain in gains.items():
        yield judged(text, user, gain >= -1, f"{gain:+.1f} %", why)
    text = "User1 and User4 gain about 30 % by trading"
    whys = {
        "User1": "User2 and User3 run the same training, so the second bid is User1's own",
        "User4": "it gains more: it sells at what a V100 is worth to a ResNet-50",
    }
    for user, why in whys.items():
        if user not in gains:
            yield missing(text, user)
        else:
            holds = abs(gains[user] - 30) <= 5
            yield judged(text, user, holds, f"{gains[user]:+.1f} %", why)
    yield from _guaranteed(study)
    yield from _dip(study)
    yield from _by_shares(study)


def _guaranteed(study: Study) -> Iterator[Statement]:
    """What users get with trading, and what their fair shares are worth, in K80s."""
    for row in study.rows:
        if row.policy == BOTH and row.x == 1:
            rate = float(study.instances[row.instance]["mini-batches a second on a K80"])
            due = _worth(SUPER if row.instance == "User4" else RESNET)
            found = number(row.values["trading"]) / rate
            yield judged(
                "it gets what its fair share is worth", row.instance, close(found, due, 0.01)
                or found > due, f"{found:.1f} K80s of {due:.1f}",
                "some GPUs that it owns idle, or others use them: gangs do not pack", own=True,
            )  # fmt: skip


def _worth(speeds: Mapping[str, float]) -> float:
    """A fair share of 16 K80s, 6 P100s and 3 V100s, in K80s."""
    return sum(n * speeds[model] for model, n in (("k80", 16), ("p100", 6), ("v100", 3)))


def _dip(study: Study) -> Iterator[Statement]:
    """The rate with trading, around the first departure."""
    text, place = "around hour 4 the rate with trading dips, and then increases", "all users"
    rows = [row for row in study.rows if (row.instance, row.policy) == (place, "trading")]
    four = [k for k, hour in enumerate(study.levels) if 3.5 <= hour <= 5]
    curve = [rows[0].curve[k] for k in four] if rows and rows[0].curve else []
    if not curve or not all(curve):
        yield missing(text, place)
        return
    before = [rows[0].curve[k] for k, hour in enumerate(study.levels) if 2 <= hour <= 3.5]
    low = curve.index(min(curve))
    usual, after = sum(before) / len(before), max(curve[low:])
    holds = curve[low] < 0.95 * usual and after > 1.03 * curve[low]
    hour = study.levels[four[low]]
    yield judged(text, place, holds,
                 f"K80s that would do as much: {usual:.0f} before, {curve[low]:.0f} at {hour:.1f} "
                 f"h, {after:.0f} after")  # fmt: skip


def _by_shares(study: Study) -> Iterator[Statement]:
    place = "shares, by price"
    gain = {
        rule: [number(study.value(place, rule, name)) for name in GAINS]
        for rule in ("second price", "seller price", "largest total")
    }
    fair = [_worth(speeds) for speeds in (RESNET, RESNET, RESNET, SUPER)]
    most = sum(f * g for f, g in zip(fair, gain["largest total"], strict=True)) / 100
    need = 0.3 * (fair[0] + fair[3])
    yield judged(
        "by the speeds of Table 1, User1 and User4 can gain 30 % both", place, need <= most,
        f"they need {need:.1f} K80s, and all users can gain {most:.1f} at most",
        "no division with everybody at its fair share or above has a larger total", own=True,
    )  # fmt: skip
    yield judged(
        "by its shares User1 gains 30 %", place, gain["second price"][0] >= 25,
        f"{gain['second price'][0]:+.1f} % at second prices, {gain['seller price'][0]:+.1f} % at "
        "the seller's", "as above: only at the price that Section 3.4 rejects", own=True,
    )  # fmt: skip


def fig9(study: Study) -> Iterator[Statement]:
    """Judge section 5.5 by the log, ours and the printed one."""
    place = "log"
    entries = [row for row in study.rows if row.instance == place]
    prices = [number(row.values["price"]) for row in entries]
    undone = [row for row in entries if number(row.values["price"]) < 0]
    yield judged("a multitude of trades is made, some are undone: negative rates", place,
                 0 < len(undone) < len(prices),
                 f"{len(prices) - len(undone)} entries made, {len(undone)} undone")  # fmt: skip
    between = [
        number(r.values["low"]) - EXACT <= abs(p) <= number(r.values["high"]) + EXACT
        for r, p in zip(entries, prices, strict=True)
    ]
    text = "rates lie between what the fast GPU is worth to the seller and to the buyer"
    yield judged(text, place, bool(entries) and all(between),
                 f"{sum(between)} of {len(between)} entries", own=True)  # fmt: skip
    first = [int(row.x or 0) for row in undone]
    few = [number(r.values["busy"]) for r in study.rows if r.instance == "departures"]
    if first and few:
        hour = min(first) / 3600
        measured = f"first at {hour:.2f} h, few jobs of a user are left from {min(few):.2f} h on"
        departed = "trades are undone when jobs or users depart"
        yield judged(departed, place, hour >= min(few) - 0.25, measured)
    wrong = [f"{when} {rate:.2f}" for when, fast, buyer, slow, seller, rate in PRINTED_LOG
             if not _possible(fast, buyer, slow, seller, rate)]  # fmt: skip
    yield judged(f"printed {text}", place, not wrong, f"not at {', '.join(wrong)}",
                 "User1 to User3 run the same training and cannot gain by trading with each other, "
                 "and a V100 is worth 1.87 K80s to User4", own=True)  # fmt: skip


def _possible(fast: str, buyer: str, slow: str, seller: str, rate: float) -> bool:
    high, low = (
        speeds[fast] / speeds[slow]
        for speeds in (SUPER if user == "User4" else RESNET for user in (buyer, seller))
    )
    return low * (1 - CLOSE) <= abs(rate) <= high * (1 + CLOSE)
