"""What Chaudhary et al. say of Tables 2 and 3 and Figs. 1, 2 and 4 to 11, judged by a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....instances.heterogeneous import TABLE1
from ....instances.shipped import shipped
from ..study import FigureRow, Statement, Study
from ..verdicts import Place, each

ALL = "all"
BACKFILL, UNDIVIDED = "lottery plus backfilling", "the same, tickets not divided by GPUs"
LOTTERY, STRIDE = "gang-aware lottery", "gang-aware stride"
FAIR, TRADED, DRIVEN = "fair shares", "trading", "trading, on the driver"
LP, MAX_MIN, NASH = "largest total", "max-min", "Nash welfare"
PRINTED = shipped("gangsched.analysis.papers.gandiva_fair", "figures")["printed"]
#: Table 2 as printed, in % of the time
PRINTED_SHARES: Mapping[str, Sequence[float]] = PRINTED["shares"]
#: how users are named in the table of classes of section 5.3, by the GPUs of their jobs
CLASSES = {1: "62 with 1 GPU", 2: "3 with 2 GPUs", 4: "3 with 4 GPUs", 8: "2 with 8 GPUs"}
#: of Fig. 8: both runs over the same time
BOTH = "mean"
GANGS = (1, 1, 2, 2, 4, 4)
FAIR_TIME = (200 / 3, 200 / 3, 100 / 3, 100 / 3, 50 / 3, 50 / 3)  # % of each job in Table 2
GAINS = tuple(f"gain {k}" for k in range(1, 5))
#: entries of the log that the page shows
SAMPLE = 12
#: Fig. 9: time, what is bought, by whom, what is sold, by whom, rate
PRINTED_LOG = PRINTED["log"]
#: Table 1, of the jobs of Fig. 9: ResNet-50 of User1 to User3, SuperResolution of User4
RESNET, SUPER = TABLE1["resnet-50"], TABLE1["super-resolution"]

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


def missing(here: Place, text: str) -> Statement:
    """Return a statement on what was not run."""
    return here.told(text, "none", SHORT_RUN)


def number(value: float | None) -> float:
    """Return a number, nan where there is none."""
    return float("nan") if value is None else value


# --- Figs. 1 and 2 --------------------------------------------------------------------------------


def _listed(values: Sequence[float], unit: str = "") -> str:
    return ", ".join(f"{value:.2f}" for value in values) + unit


@each()
def fig1(here: Place) -> Iterator[Statement]:
    """Judge section 2.1 by Fig. 1."""
    policies = [row.policy for row in here.study.rows if "A" in row.values]
    key = {name.split(" ")[0]: name for name in policies}

    def gpus(option: str, names: Sequence[str] = "ABC") -> list[float]:
        return [number(here.value(key[option], name)) for name in names]

    def holds(text: str, option: str, due: Sequence[float]) -> Statement:
        found = gpus(option)
        return here.say(text, all_close(found, due, EXACT), f"A, B, C {_listed(found)}")

    yield holds("(a): C waits; A and B have 4 GPUs each", "(a)", (4, 4, 0))
    yield holds("(b): one user has 4 GPUs, the other two have 2 each", "(b)", (4, 2, 2))
    slices = (10 / 3, 10 / 3, 4 / 3)
    yield holds("(c): with equal time slices on a server, C has 4/3 GPUs", "(c)", slices)
    yield holds("(d): A and B have 3 GPUs each, C has 2: fair to users", "(d)", (3, 3, 2))
    jobs = gpus("(d)", ("A1", "A2", "B1", "B2"))
    uneven = [round(x, 4) for x in sorted(jobs)] == [1, 1, 2, 2]
    yield here.say("not fair to jobs", uneven, _listed(jobs))
    yield holds("allocated", "(d')", (3, 3, 2))
    yield holds("if nobody migrates", "(d'')", (3, 3, 2))
    yield holds("(e): A and B have 3 GPUs each, C has 2", "(e)", (3, 3, 2))
    jobs = gpus("(e)", ("A1", "A2", "B1", "B2"))
    even = all_close(jobs, [1.5] * 4, EXACT)
    yield here.say("(e): each job of A and B has 1.5 GPUs", even, _listed(jobs))
    none, some = (number(here.value(key[option], "moves")) for option in ("(d)", "(e)"))
    measured = f"(d) {none:.0f}, (e) {some:.0f} in 24 quanta"
    yield here.say("(e) needs migrations, (d) none", none == 0 < some, measured)


@each()
def fig2(here: Place) -> Iterator[Statement]:
    """Judge what section 2.1 wants of Fig. 2, and the example of section 3.1."""
    rows = [row for row in here.study.rows if row.instance == here.name]
    *users, everybody = (row for row in rows if "gpus" in row.values)
    shares = [number(row.values["gpus"]) for row in users]
    idle = 8 - number(everybody.values["gpus"])
    listed = ", ".join(f"{r.policy[0]} {x:.2f}" for r, x in zip(users, shares, strict=True))
    yield here.say(
        "each of six users has its fair share, 1.33 GPUs", all(close(x, 4 / 3) for x in shares),
        listed, f"{idle:.2f} of 8 GPUs idle: gangs do not pack where the balancer puts them"
        if idle > EXACT else
        "three users share the first server and two the second one, and nobody moves",
    )  # fmt: skip
    yield here.say("no idle GPU", idle <= EXACT, f"{idle:.2f} idle")
    yield here.say("equal shares", max(shares[:3]) <= min(shares[:3]) * (1 + CLOSE), listed)
    wide = next(row for row in rows if row.curve and row.values["gang"] == 8)
    runs = [value for value in wide.curve if value]
    measured = f"{len(runs)} of {len(wide.curve)} quanta"
    yield here.say("both servers", bool(runs) and set(runs) == {3.0}, measured)


# --- tables ---------------------------------------------------------------------------------------


def table2(study: Study) -> Iterator[Statement]:
    """Judge section 3.1 by Table 2."""

    def column(scheme: str, measure: str) -> list[float]:
        return [number(r.values.get(measure)) for r in study.rows if r.instance == scheme]

    for scheme in (BACKFILL, UNDIVIDED):
        here = Place(study, scheme)
        exact = column(scheme, "exact")
        printed = list(PRINTED_SHARES[BACKFILL])
        total = sum(p * g for p, g in zip(printed, GANGS, strict=True)) / 4
        why = f"no GPU idles here, but what is printed adds up to {total:.1f} % of the server"
        yield here.say("backfilling", all_close(exact, printed), _listed(exact, " %"), why)
        measured = f"{exact[-1]:.1f} % where 16.7 % are fair"
        yield here.say("unfair to wide jobs", exact[-1] < 50 / 3 - EXACT, measured)
    drawn = Place(study, LOTTERY)
    exact, spread, long = (column(LOTTERY, m) for m in ("drawn", "spread", "long"))
    off = max(abs(a - b) for a, b in zip(exact, column(STRIDE, "exact"), strict=True))
    fairer = off < abs(column(BACKFILL, "exact")[-1] - 50 / 3)
    yield drawn.say("it is fairer than backfilling", fairer, _listed(exact, " %"))
    short, longer = (f"standard deviations {_listed(own, ' points')}" for own in (spread, long))
    yield drawn.say("it is unbalanced over 100 intervals", max(spread) > 3, short)
    yield drawn.say("it is fair over 1,000 intervals", max(long) < 2, longer)
    exact, text = column(STRIDE, "exact"), "66.7, 33.3 and 16.7 % in 6 intervals"
    yield Place(study, STRIDE).say(text, all_close(exact, FAIR_TIME, 1e-5), _listed(exact, " %"))


def table3(study: Study) -> Iterator[Statement]:
    """Judge section 3.4 by Table 3."""

    def values(name: str, measure: str = "value") -> list[float]:
        return [number(study.value(name, user, measure)) for user in "ABC"]

    def total(name: str) -> float:
        return number(study.value(name, ALL, "value"))

    traded = Place(study, TRADED)
    text = "fair shares of 20 K80s and 4 V100s are worth 25, 40 and 45"
    yield Place(study, FAIR).say(text, values(FAIR) == [25, 40, 45], _listed(values(FAIR)))
    text = "after four trades A has 40 K80s, C 8 V100s: worth 40, 40 and 50"
    yield traded.say(text, values(TRADED) == [40, 40, 50], _listed(values(TRADED)))
    near = all_close(values(DRIVEN), (40, 40, 50), 0.01)
    yield Place(study, DRIVEN).say(text, near, _listed(values(DRIVEN)))
    text = "both users of the trade gain, nobody loses"
    before = values(FAIR)
    for name, least in ((TRADED, 1.0), (DRIVEN, 0.99)):
        pairs = list(zip(values(name), before, strict=True))
        gains = [100 * (a / b - 1) for a, b in pairs]
        holds = all(a >= b * least for a, b in pairs) and min(gains[0], gains[2]) > 0
        yield Place(study, name).say(text, holds, _listed(gains, " %"))
    part = number(study.value(TRADED, ALL, "captured"))
    measured = f"{total(TRADED):.2f} of at most {total(LP):.2f}, {100 * part:.1f} % of the surplus"
    yield traded.say("efficiency", total(TRADED) >= total(LP) * (1 - EXACT), measured)
    bound = number(study.value(LP, ALL, "bound"))
    measured = f"{total(LP):.2f}, proven {bound:.2f}"
    yield Place(study, LP).say("largest total", close(total(LP), bound, 1e-9), measured)
    best, got = (min(a / b for a, b in zip(values(n), before, strict=True))
                 for n in (MAX_MIN, TRADED))  # fmt: skip
    measured = f"{100 * (best - 1):.1f} % each, {100 * (got - 1):.1f} % by trading"
    yield Place(study, MAX_MIN).say("equal gains", best > got, measured)
    same = all_close(values(NASH), values(TRADED), 1e-6)
    yield Place(study, NASH).say("equilibrium", same, _listed(values(NASH)))


@each()
def surplus(here: Place) -> Iterator[Statement]:
    """Judge section 3.4 by random markets."""

    def of(rule: str, measure: str = "mean") -> list[float]:
        return [number(here.value(rule, measure, x)) for x in here.xs]

    second, least, worst = (of("second", measure) for measure in ("mean", "least", "worst"))
    measured = f"{_listed(second)} of the surplus, at least {min(least):.2f}"
    yield here.say("efficiency", min(second) > 1 - EXACT, measured)
    gains = _listed([100 * (w - 1) for w in worst], " %")
    yield here.say("who gains least", min(worst) >= 1 - 1e-9, f"gains {gains}")
    half, all_bids = of("midpoint"), of("second-of-all")
    more = [a > b for a, b, x in zip(half, second, here.xs, strict=True) if x >= 10]
    yield here.say("halfway", all(more), f"{_listed(half)} and {_listed(second)}")
    fewer = all(a < b for a, b in zip(all_bids, second, strict=True))
    yield here.say("bids without GPUs", fewer, f"{_listed(all_bids)} where it does")


# --- GPUs over time -------------------------------------------------------------------------------


#: GPUs that users should have; None: the ideal share of the run
Due = Mapping[str, float | None]
THREE = ("User1", "User2", "User3")


def _rows(here: Place, name: str) -> dict[int, FigureRow]:
    """The rows of a user, by phase."""
    rows = (r for r in here.study.rows if (r.instance, r.policy) == (here.name, name))
    return {row.x: row for row in rows if row.x is not None}


def _near(here: Place, text: str, phase: int, due: Due, within: float = CLOSE) -> Statement:
    """Judge "these users have these GPUs in this phase"."""
    held, missed = [], False
    for name, printed in due.items():
        row = _rows(here, name).get(phase)
        if row is None:
            return missing(here, text)
        gpus, share = (number(row.values[m]) for m in ("gpus", "ideal"))
        missed |= not close(gpus, share if printed is None else printed, within)
        held.append(f"{name} {gpus:.2f}" + f" (ideal {share:.2f})" * (printed is None))
    return here.say(text, not missed, ", ".join(held))


def _ends(here: Place, text: str, names: Sequence[str], due: float) -> Statement:
    """Judge "jobs of these users complete after so many hours", by when few are left."""
    found = [[number(here.value(n, m)) for m in ("busy", "end")] for n in names]
    measured = ", ".join(f"few left at {busy:.2f} h, none at {end:.2f} h" for busy, end in found)
    return here.say(text, all(close(busy, due) for busy, _ in found), measured)


def _all_used(here: Place, text: str, gpus: int, phases: slice = slice(None)) -> Statement:
    """Judge "nearly all GPUs are used"."""
    total = [number(row.values["gpus"]) for row in _rows(here, ALL).values()][phases]
    return here.say(text, bool(total) and min(total) > 0.95 * gpus, _listed(total))


@each()
def fig4(here: Place) -> Iterator[Statement]:
    """Judge section 5.1."""
    each_third = dict.fromkeys(THREE, 4 / 3)
    yield _near(here, "each user has its ideal share of 1.33 GPUs", 1, each_third)
    text = "jobs of User1 and User3 complete after about four hours"
    yield _ends(here, text, ("User1", "User3"), 4)
    yield _near(here, "then User2 has all 4 GPUs", 2, {"User2": 4})


@each()
def fig5(here: Place) -> Iterator[Statement]:
    """Judge section 5.2."""
    each_third = dict.fromkeys(THREE, 8 / 3)
    yield _near(here, "each user has its ideal share of 2.66 GPUs", 1, each_third)
    text = "the job of User1 completes after about an hour and a half"
    yield _ends(here, text, ("User1",), 1.5)
    yield _near(here, "then User2 and User3 have 4 GPUs each", 2, {"User2": 4, "User3": 4})


@each()
def fig6(here: Place) -> Iterator[Statement]:
    """Judge section 5.3's first experiment."""
    names = [p for p in here.study.policies if p != ALL and not p.endswith(", ideal")]
    yield _near(here, "classes", 1, dict.fromkeys(names), 0.1)
    yield _near(here, "after the 8-GPU jobs", 2, dict.fromkeys(names[:-1]), 0.1)
    yield _all_used(here, "in use", 48, slice(2))


@each()
def fig7(here: Place) -> Iterator[Statement]:
    """Judge section 5.3's second experiment."""
    each_third = dict.fromkeys(THREE, 64 / 3)
    yield _near(here, "each user has about 21.3 GPUs", 1, each_third, 0.1)
    yield _any_bin(here)
    yield _ends(here, "User3 first", ("User3",), 1)
    both = {"User1": 32, "User2": 32}
    yield _near(here, "then User1 and User2 have 32 GPUs each on average", 2, both, 0.1)
    yield _ends(here, "jobs of User1 are complete after about four hours", ("User1",), 4)
    yield _near(here, "then User3 has all (read: User2, as User3 has gone)", 3, {"User2": 64})
    yield _all_used(here, "in total close to 64 GPUs are used throughout", 64)


def _any_bin(here: Place) -> Statement:
    """What users have in ten minutes, while all three are there."""
    row = _rows(here, "User1").get(1)
    if row is None:
        return missing(here, "any ten minutes")
    until = number(row.values["until"]) - 1 / 12
    found = [
        gpus
        for r in here.study.rows
        if r.curve and r.policy in THREE
        for hour, gpus in zip(here.study.levels, r.curve, strict=True)
        if hour <= until
    ]
    measured = f"{min(found):.1f} to {max(found):.1f} GPUs"
    return here.say("any ten minutes", all(close(g, 64 / 3, 0.1) for g in found), measured)


def _model(here: Place) -> str:
    """The model that an instance of Figs. 10 and 11 is about."""
    return here.name.split(" ")[1].removesuffix("s")


def fig10(study: Study) -> Iterator[Statement]:
    """Judge section 5.4."""
    places = [Place(study, name) for name in study.instances]
    for here in places:
        yield from _without_trading(here)
    yield _ends(places[0], "jobs of User1 finish after four hours", ("User1",), 4)


def _without_trading(here: Place) -> Iterator[Statement]:
    users, model = [f"User{k}" for k in range(1, 5)], _model(here)
    first, second, later = {
        "V100": (3, 4, "4"), "P100": (6, 8, "8"), "K80": (16, 64 / 3, "21.3")
    }[model]  # fmt: skip
    text = f"four users have equal shares: {first} {model}s"
    yield _near(here, text, 1, dict.fromkeys(users, first), 0.1)
    text = f"after User1 three users have equal shares: about {later} {model}s"
    yield _next_hour(here, text, second)
    yield _near(here, "kept", 2, dict.fromkeys(users[1:], second), 0.1)


def _next_hour(here: Place, text: str, due: float) -> Statement:
    """What User2 to User4 have in the hour after User1 has gone."""
    gone = number(here.value("User1", "end"))
    held = {
        row.policy: [g for hour, g in zip(here.study.levels, row.curve, strict=True)
                     if gone <= hour < gone + 1]
        for row in here.study.rows
        if row.instance == here.name and row.curve and row.policy in ("User2", "User3", "User4")
    }  # fmt: skip
    if 2 not in _rows(here, "User2") or not all(held.values()):
        return missing(here, text)
    means = {user: sum(gpus) / len(gpus) for user, gpus in held.items()}
    listed = ", ".join(f"{user} {mean:.2f}" for user, mean in means.items())
    return here.say(text, all(close(mean, due, 0.15) for mean in means.values()),
                    f"{listed} in the next hour")  # fmt: skip


@each()
def fig11(here: Place) -> Iterator[Statement]:
    """Judge section 5.5 by Fig. 11."""
    due = {"V100": 3.0, "P100": 6.0, "K80": 16.0}[_model(here)]
    shares = {f"User{k}": _rows(here, f"User{k}").get(1) for k in range(1, 5)}
    gpus = {user: number(row.values["gpus"]) for user, row in shares.items() if row}
    text = "shares diverge from the fair ones by trades"
    if not gpus:
        yield missing(here, text)
        return
    listed = ", ".join(f"{user} {value:.1f}" for user, value in gpus.items())
    apart = any(not close(v, due, 0.25) for v in gpus.values())
    yield here.say(text, apart, f"{listed}; fair {due:.0f} each")
    rows = (r for r in here.study.rows if r.instance == here.name and r.policy in gpus)
    curves = [row.curve for row in rows if row.curve]
    starts = [curve[0] for curve in curves]
    measured = f"{_listed(starts)} in the first ten minutes"
    yield here.say("start", all(close(v, due, 0.25) for v in starts), measured)
    peak = max(map(max, curves))
    text = "single users have more GPUs of a model than without trades"
    yield here.say(text, peak > 1.25 * due * 4 / 3, f"{peak:.1f} at most")


# --- Figs. 8 and 9 --------------------------------------------------------------------------------


def fig8(study: Study) -> Iterator[Statement]:
    """Judge sections 5.4 and 5.5 by Fig. 8."""
    gains = {
        row.instance: number(row.values["gain"])
        for row in study.rows
        if row.x == 1 and "gain" in row.values
    }
    for user, gain in gains.items():
        yield Place(study, user).say("net performance", gain >= -1, f"{gain:+.1f} %")
    text = "User1 and User4 gain about 30 % by trading"
    whys = {
        "User1": "User2 and User3 run the same training, so the second bid is User1's own",
        "User4": "it gains more: it sells at what a V100 is worth to a ResNet-50",
    }
    for user, why in whys.items():
        if user not in gains:
            yield missing(Place(study, user), text)
        else:
            holds = abs(gains[user] - 30) <= 5
            yield Place(study, user).say(text, holds, f"{gains[user]:+.1f} %", why)
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
            gets = close(found, due, 0.01) or found > due
            yield Place(study, row.instance).say("worth", gets, f"{found:.1f} K80s of {due:.1f}")


def _worth(speeds: Mapping[str, float]) -> float:
    """A fair share of 16 K80s, 6 P100s and 3 V100s, in K80s."""
    return sum(n * speeds[model] for model, n in (("k80", 16), ("p100", 6), ("v100", 3)))


def _dip(study: Study) -> Iterator[Statement]:
    """The rate with trading, around the first departure."""
    text, here = (
        "around hour 4 the rate with trading dips, and then increases",
        Place(study, "all users"),
    )
    rows = [row for row in study.rows if (row.instance, row.policy) == (here.name, "trading")]
    four = [k for k, hour in enumerate(study.levels) if 3.5 <= hour <= 5]
    curve = [rows[0].curve[k] for k in four] if rows and rows[0].curve else []
    if not curve or not all(curve):
        yield missing(here, text)
        return
    before = [rows[0].curve[k] for k, hour in enumerate(study.levels) if 2 <= hour <= 3.5]
    low = curve.index(min(curve))
    usual, after = sum(before) / len(before), max(curve[low:])
    holds = curve[low] < 0.95 * usual and after > 1.03 * curve[low]
    hour = study.levels[four[low]]
    measured = f"{usual:.0f} before, {curve[low]:.0f} at {hour:.1f} h, {after:.0f} after"
    yield here.say(text, holds, f"K80s that would do as much: {measured}")


def _by_shares(study: Study) -> Iterator[Statement]:
    here = Place(study, "shares, by price")
    gain = {
        rule: [number(here.value(rule, name)) for name in GAINS]
        for rule in ("second price", "seller price", "largest total")
    }
    fair = [_worth(speeds) for speeds in (RESNET, RESNET, RESNET, SUPER)]
    most = sum(f * g for f, g in zip(fair, gain["largest total"], strict=True)) / 100
    need = 0.3 * (fair[0] + fair[3])
    measured = f"they need {need:.1f} K80s, and all users can gain {most:.1f} at most"
    yield here.say("30 % both", need <= most, measured)
    second, seller = (gain[f"{rule} price"][0] for rule in ("second", "seller"))
    measured = f"{second:+.1f} % at second prices, {seller:+.1f} % at the seller's"
    yield here.say("30 % by shares", second >= 25, measured)


def fig9(study: Study) -> Iterator[Statement]:
    """Judge section 5.5 by the log, ours and the printed one."""
    here = Place(study, "log")
    entries = [row for row in study.rows if row.instance == here.name]
    prices = [number(row.values["price"]) for row in entries]
    undone = [row for row in entries if number(row.values["price"]) < 0]
    measured = f"{len(prices) - len(undone)} entries made, {len(undone)} undone"
    yield here.say("made and undone", 0 < len(undone) < len(prices), measured)
    between = [
        number(r.values["low"]) - EXACT <= abs(p) <= number(r.values["high"]) + EXACT
        for r, p in zip(entries, prices, strict=True)
    ]
    measured = f"{sum(between)} of {len(between)} entries"
    yield here.say("between", bool(entries) and all(between), measured)
    first = [int(row.x or 0) for row in undone]
    few = [number(r.values["busy"]) for r in study.rows if r.instance == "departures"]
    if first and few:
        hour = min(first) / 3600
        measured = f"first at {hour:.2f} h, few jobs of a user are left from {min(few):.2f} h on"
        yield here.say("departures", hour >= min(few) - 0.25, measured)
    wrong = [f"{when} {rate:.2f}" for when, fast, buyer, slow, seller, rate in PRINTED_LOG
             if not _possible(fast, buyer, slow, seller, rate)]  # fmt: skip
    yield here.say("printed", not wrong, f"not at {', '.join(wrong)}")


def _possible(fast: str, buyer: str, slow: str, seller: str, rate: float) -> bool:
    high, low = (
        speeds[fast] / speeds[slow]
        for speeds in (SUPER if user == "User4" else RESNET for user in (buyer, seller))
    )
    return low * (1 - CLOSE) <= abs(rate) <= high * (1 + CLOSE)
