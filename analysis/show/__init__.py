"""What people look at: tables, pictures and reports."""

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
