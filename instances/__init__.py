"""What a problem is: jobs, clusters, schedules, generators, traces and the library."""

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
