"""gangsched: GPU-cluster scheduling problems, algorithms and proven bounds.

The names stand in ``__init__.pyi``; each is imported when it is asked for.
"""

from lazy_loader import attach_stub as _attach_stub

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
