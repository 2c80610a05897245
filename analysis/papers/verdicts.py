"""Verdicts that statements of several papers share: comparisons that must hold for every seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from types import MappingProxyType
from typing import Any, NamedTuple

from .study import Agreement, FigureRow, Statement, Study, per_seed

OTHER_JOBS = "these are not the paper's jobs"
SEEDS_DISAGREE = "the seeds disagree"
EQUAL = "they are equal: these jobs cannot tell them apart"


def values(
    study: Study, instance: str, policy: str, measure: str, x: int | None = None
) -> list[float]:
    """Return the values of the seeds; none where one is not defined."""
    row = study.row(instance, policy, x)
    own = [v for name, v in row.values.items() if name.startswith(f"{measure} [")] if row else []
    known = [v for v in own if v is not None]
    return known if len(known) == len(own) else []


Write = Callable[[Sequence[float]], str]


class Place(NamedTuple):
    """An instance of a figure on which statements are judged, at one x where one is given.

    Parameters
    ----------
    study : Study
    name : str
    x : int or None
    written : mapping of str to callable
        How the values of the seeds of a measure are written.

    Examples
    --------
    >>> here = Place(None, "T[360]")
    >>> print(here.say("A waits", 3 < 2, "3 s, 2 s", "B is short"))
    **does not**, because B is short: 3 s, 2 s
    >>> print(here.compared("A has less", [1, 2], [3, 4], mean))
    agrees: 1.50, 3.50
    >>> print(here.compared("A has less", [1, 4], [2, 3], mean))
    **not comparable**, because the seeds disagree: 2.50, 2.50
    >>> print(here.compared("A has less", [], [1], mean))
    **not comparable**, because not all were run: none, 1.00
    """

    study: Study
    name: str
    x: int | None = None
    written: Mapping[str, Write] = MappingProxyType({})

    @property
    def xs(self) -> tuple[int, ...]:
        """The values of the axis."""
        return self.study.xs(self.name)

    def at(self, x: int) -> Place:
        """Return the same instance at this x."""
        return self._replace(x=x)

    def value(self, policy: str, measure: str, x: int | None = None) -> float | None:
        """Return a mean over seeds."""
        return self.study.value(self.name, policy, measure, self.x if x is None else x)

    def by_seed(self, policy: str, measure: str, x: int | None = None) -> list[float]:
        """Return the values of the seeds; none where one is not defined."""
        return values(self.study, self.name, policy, measure, self.x if x is None else x)

    def of(self, measure: str, *policies: str) -> list[list[float]]:
        """Return what these policies have of a measure, by seed."""
        return [self.by_seed(policy, measure) for policy in policies]

    def known(self, measure: str, policies: Iterable[str]) -> dict[str, float]:
        """Return the means of these policies, where they are defined."""
        found = {policy: self.value(policy, measure) for policy in policies}
        return {policy: value for policy, value in found.items() if value is not None}

    def along(self, policy: str, measure: str) -> dict[int, float]:
        """Return means over seeds by x, where they are defined."""
        found = {x: self.value(policy, measure, x) for x in self.xs}
        return {x: value for x, value in found.items() if value is not None}

    def say(
        self, text: str, holds: bool, measured: str, why: str = "", *, own: bool = False, **of: Any
    ) -> Statement:
        """Return a statement that holds, or does not because of `why`; ours, or the paper's.

        Its text, a usual `why` and whether it is ours may stand in the figure's table by a key, the
        text with fields that are given.
        """
        said = self.study.said.get(text, {}) if self.study else {}
        if isinstance(said, str):
            said = {"text": said}
        reason, ours = "" if holds else why or said.get("why", ""), own or said.get("ours", False)
        text = said["text"].format(**of) if said else text
        return Statement(text, self.name, Agreement.of(holds), measured, reason, in_paper=not ours)

    def told(self, text: str, measured: str, why: str = OTHER_JOBS, **of: Any) -> Statement:
        """Return a number of the paper that nothing here can confirm."""
        return replace(self.say(text, False, measured, why, **of), verdict=Agreement.OPEN)

    def less(self, text: str, measure: str, one: str, other: str, **more: Any) -> Statement:
        """Judge whether the one policy has less of a measure than the other, on every seed."""
        small, large = self.of(measure, one, other)
        return self.compared(text, small, large, self.written[measure], **more)

    def compared(
        self, text: str, small: Sequence[float], large: Sequence[float], write: Write, **more: Any
    ) -> Statement:
        """Judge "the one is smaller than the other", which must hold for every seed."""
        wins = [a < b for a, b in zip(small, large, strict=False)]
        found = self.say(text, all(wins), f"{write(small)}, {write(large)}", **more)
        if small and large and list(small) != list(large) and len({*wins}) == 1:
            return found
        reason = EQUAL if list(small) == list(large) else SEEDS_DISAGREE
        reason = reason if small and large else "not all were run"
        return replace(found, verdict=Agreement.OPEN, why=reason)


def each(
    written: Mapping[str, Write] = MappingProxyType({}),
) -> Callable[[Callable[[Place], Iterable[Statement]]], Callable[[Study], Iterator[Statement]]]:
    """Return what judges every instance of a study, for a function that judges one."""

    def on_every_instance(
        judge: Callable[[Place], Iterable[Statement]],
    ) -> Callable[[Study], Iterator[Statement]]:
        return lambda study: (
            said for name in study.instances for said in judge(Place(study, name, None, written))
        )

    return on_every_instance


def mean(numbers: Sequence[float], unit: str = "") -> str:
    """Write a mean over seeds.

    Examples
    --------
    >>> mean([1.0, 2.0], " %"), mean([])
    ('1.50 %', 'none')
    """
    return f"{fmean(numbers):.2f}{unit}" if numbers else "none"


def turns(values: Sequence[float], tolerance: float = 0.0) -> str:
    """Return the directions that a series takes, without repetition.

    Examples
    --------
    >>> turns([5, 4, 4, 3, 6]), turns([1, 2, 1])
    ('-+', '+-')
    >>> turns([100, 99, 99.5, 97, 100], 0.01), turns([100, 100.5, 100], 0.01)
    ('-+', '')
    """
    found = ""
    low = high = values[0]
    for value in values[1:]:
        low, high = min(low, value), max(high, value)
        if value > low * (1 + tolerance) and found[-1:] != "+":
            found += "+"
        elif value < high * (1 - tolerance) and found[-1:] != "-":
            found += "-"
        if found[-1:] == "+":
            low = high = max(high, value)
        elif found:
            low = high = min(low, value)
    return found


# --- statements that are judged on each seed -----------------------------------------------------

Judge = Callable[[Study], Iterable[Statement]]


def over_seeds(judge: Judge) -> Judge:
    """Return a judge of means over seeds whose verdicts must be those of every seed.

    Where they differ a statement is open, as the seeds disagree, and says which seeds it holds on.
    """

    def judged_on_each(study: Study) -> Iterator[Statement]:
        by_seed = {
            seed: {(s.text, s.instance): s for s in judge(_of_seed(study, seed))}
            for seed in study.seeds(study.instances)
        }
        for whole in judge(study):
            place = whole.text, whole.instance
            own = {seed: said[place] for seed, said in by_seed.items() if place in said}
            yield _settled(whole, own)

    return judged_on_each


def _of_seed(study: Study, seed: int) -> Study:
    """What one seed gave; curves stay means over all."""
    rows = []
    for row in study.rows:
        own = {
            n: row.values[per_seed(n, seed)] for n in row.values if per_seed(n, seed) in row.values
        }
        if own:
            rows.append(FigureRow(row.instance, row.policy, row.x, own, row.curve))
    there = {row.instance for row in rows}
    rows += [row for row in study.rows if row.instance in there and not row.values]
    instances = {name: facts for name, facts in study.instances.items() if name in there}
    return replace(study, rows=tuple(rows), instances=instances, statements=())


def _settled(whole: Statement, seeds: dict[int, Statement]) -> Statement:
    """The statement about the means, or that the seeds disagree."""
    verdicts = {said.verdict for said in seeds.values()}
    if not seeds or verdicts == {whole.verdict}:
        return whole
    if len(verdicts) == 1:  # the mean alone says something else
        (verdict,) = verdicts
        return replace(next(iter(seeds.values())), verdict=verdict, measured=whole.measured)
    holds = [f"{k}" for k, said in seeds.items() if said.verdict is not Agreement.DIFFERS]
    on = f"it holds on {', '.join(holds)} of {', '.join(map(str, seeds))}"
    return replace(
        whole, verdict=Agreement.OPEN, why=f"{SEEDS_DISAGREE} ({on})", measured=whole.measured
    )
