"""RAR-DDLS of Yu et al. 2022: the problem and its declarative models."""

from .problem import DEGRADATIONS as DEGRADATIONS
from .problem import Estimates as Estimates
from .problem import RarDdls as RarDdls
from .problem import estimated_times as estimated_times
from .problem import estimates as estimates
from .problem import evaluate as evaluate
