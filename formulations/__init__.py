"""The papers' optimisation problems: data, objective, feasibility and declarative models."""

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
