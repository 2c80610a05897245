"""The papers' optimisation problems: data, objective, feasibility and declarative models."""

from .problem import Model as Model
from .problem import Problem as Problem
from .problem import Sense as Sense
from .rar_ddls import RarDdls as RarDdls
