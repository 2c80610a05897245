"""Modules under their former names: importing one gives the module of today, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

#: former name of a module of the API reference, and its name today
MOVED = {
    "gangsched.analysis.bounds": "gangsched.analysis.proofs.makespan",
    "gangsched.analysis.certificates": "gangsched.analysis.proofs.verify",
    "gangsched.analysis.plots": "gangsched.analysis.show.plots",
    "gangsched.analysis.ratio": "gangsched.analysis.comparing.comparison",
    "gangsched.analysis.report": "gangsched.analysis.show.report",
    "gangsched.analysis.reproduce": "gangsched.analysis.papers.reproduce",
    "gangsched.analysis.theorems": "gangsched.analysis.papers.theorems",
    "gangsched.solvers.baselines": "gangsched.solvers",
    "gangsched.solvers.gang_queue": "gangsched.solvers.rar_ddls.gang_queue",
}


class _Mover(MetaPathFinder, Loader):
    """Finds former names, after everything else has failed to."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        warnings.warn(f"{spec.name} is now {new}", DeprecationWarning, stacklevel=2)
        module = import_module(new)
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.own_spec  # which the import system has just replaced


def install() -> None:
    """Make the former names of modules importable."""
    if not any(isinstance(finder, _Mover) for finder in sys.meta_path):
        sys.meta_path.append(_Mover())
