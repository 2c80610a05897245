"""UniSched of Gao et al. 2024: the problem, its models, and lease arithmetic."""

from .problem import CONSOLIDATION_ROWS as CONSOLIDATION_ROWS
from .problem import Allocations as Allocations
from .problem import CellAllocation as CellAllocation
from .problem import Option as Option
from .problem import UniSched as UniSched
