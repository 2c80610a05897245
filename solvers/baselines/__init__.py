"""The papers' baselines and plain strong heuristics, one file each."""

from .backfilling import backfilling as backfilling
from .fifo import Fifo as Fifo
from .first_fit import first_fit as first_fit
from .gandiva_fair import GandivaFair as GandivaFair
from .hived import Hived as Hived
from .las import Las as Las
from .list_scheduling import list_scheduling as list_scheduling
from .random_placement import random_placement as random_placement
from .sjf import Sjf as Sjf
from .srtf import Srtf as Srtf
from .themis import Themis as Themis
from .themis import ThemisGreedy as ThemisGreedy
from .tiresias_l import TiresiasL as TiresiasL
from .yarn_cs import YarnCs as YarnCs
