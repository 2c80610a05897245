"""What all results offer to those who look at them.

How they look is written in :mod:`gangsched.analysis.show.results`, which knows the results; these
know nothing of it. The package names it to :class:`Shown`, and it is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Shown:
    """A result, as text, as a table in a notebook, as plain data and as a frame."""

    renderer: ClassVar[Callable[[], Any]]  #: returns the module that shows results

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data, equal for equal results but for the ``timing`` of rows."""
        found: dict[str, Any] = Shown.renderer().data(self)
        return found

    def csv(self) -> str:
        """Return everything that is measured, a line for each row, as CSV."""
        return str(Shown.renderer().whole(self).csv())

    def to_frame(self) -> Any:
        """Return the same as a pandas DataFrame; its `attrs` have the units by column."""
        return Shown.renderer().whole(self).to_frame()

    def _repr_html_(self) -> str:
        return str(Shown.renderer().page(self))

    def __str__(self) -> str:
        return str(Shown.renderer().text(self))
