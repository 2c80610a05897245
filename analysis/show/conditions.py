"""Under which conditions a table compares: the line that stands below it.

A winner says little without them: who knew run times and who paid for knowing them, which
seeds were drawn, which jobs were left out, under which rules all ran, and what is proven about how
far from the best possible the winner is. Tables of the screen, of reports and of the documentation
get this line from the code that makes them; ``tests/test_conditions.py`` reads it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...solvers.policy import Rules

UNRANKED = "none, as the table ranks nobody"
UNBOUNDED = "none, as no bound of {} is at hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a comparison has in common, or where its rows say in what they differ.

    Parameters
    ----------
    information : str
        What was known of run times, and at which price.
    seeds : str
        Of what was drawn, see :func:`seed_range`.
    excluded : str
        How many jobs were left out, see :func:`left_out`.
    parameters : str
        Cluster, rounds, leases and costs.
    certificate : str
        What is proven about the measures, or why nothing is.

    Examples
    --------
    >>> print(Conditions(information="known", seeds=seed_range([0, 1, 2]), excluded=left_out([0]),
    ...               parameters="rounds of 60 s", certificate="certified ratio in the table"))
    Information: known; seeds: 0 to 2; excluded: no job; parameters: rounds of 60 s; certificate: \
certified ratio in the table.
    """

    information: str
    seeds: str
    excluded: str
    parameters: str
    certificate: str

    def __post_init__(self) -> None:
        for name, value in self.parts():
            if not value.strip() or value != value.strip():
                raise ValueError(f"{name}={value!r} says nothing, or has space around it")

    def parts(self) -> list[tuple[str, str]]:
        """Return names and values, in their order."""
        return [(part.name, getattr(self, part.name)) for part in fields(self)]

    def __str__(self) -> str:
        text = "; ".join(f"{name}: {value}" for name, value in self.parts())
        return f"{text[:1].upper()}{text[1:]}."


def seed_range(seeds: Sequence[int]) -> str:
    """Write seeds, in ascending order.

    Parameters
    ----------
    seeds : sequence of int

    Examples
    --------
    >>> seed_range([0, 1, 2]), seed_range([3, 1]), seed_range([4]), seed_range([])
    ('0 to 2', '1, 3', '4', 'none drawn')
    """
    known = sorted(set(seeds))
    if len(known) > 2 and all(b == a + 1 for a, b in pairwise(known)):
        return f"{known[0]} to {known[-1]}"
    return ", ".join(map(str, known)) or "none drawn"


def rules_in_words(rules: Rules) -> str:
    """Write the rules of a cluster.

    Parameters
    ----------
    rules : Rules

    Examples
    --------
    >>> from gangsched.solvers.policy import Rules
    >>> rules_in_words(Rules(overhead=0, synchronous=False))
    'rounds of 60 s, leases of 900 s, 0 s to resume, patience 7,200 s'
    """
    said = [
        f"rounds of {rules.round_length:,} s",
        f"leases of {rules.lease:,} s" + " that end together" * rules.synchronous,
        f"{rules.overhead:,} s to resume",
    ]
    said += [] if rules.migration is None else [f"{rules.migration:,} s to move"]
    said.append("no patience" if rules.patience is None else f"patience {rules.patience:,} s")
    return ", ".join([*said, *(["jobs spread over nodes"] * rules.spread)])


def left_out(counts: Sequence[int]) -> str:
    """Write how many jobs are missing, by draw.

    Parameters
    ----------
    counts : sequence of int

    Examples
    --------
    >>> left_out([0, 0]), left_out([1]), left_out([247, 0])
    ('no job', '1 job', '247 and 0 jobs by seed')
    """
    if not any(counts):
        return "no job"
    if len(set(counts)) == 1:
        return f"{counts[0]:,} job{'s' * (counts[0] != 1)}"
    *first, last = (f"{count:,}" for count in counts)
    return f"{', '.join(first)} and {last} jobs by seed"


#: where nothing is drawn and no job is left out, unless it is said otherwise
all_given = partial(Conditions, seeds=seed_range([]), excluded=left_out([0]))
