"""The papers' baselines and plain strong heuristics, one file each."""

from .backfilling import backfilling as backfilling
from .first_fit import first_fit as first_fit
from .list_scheduling import list_scheduling as list_scheduling
from .random_placement import random_placement as random_placement
