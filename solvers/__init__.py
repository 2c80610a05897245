"""Algorithms: functions from a problem to a result, policies, and exact solving.

The names stand in ``__init__.pyi``; what needs HiGHS, numba or scipy is imported when asked for.
"""

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
