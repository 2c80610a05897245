"""IRMP of Wang et al. 2023: the problem and its declarative models."""

from .problem import Irmp as Irmp
from .problem import paper_problem as paper_problem
from .problem import parameter_servers as parameter_servers
from .problem import rates_of as rates_of
from .problem import reduced_problem as reduced_problem
from .problem import run_rate as run_rate
from .problem import run_slots as run_slots
