"""What a program finds as it left it after it has imported all of gangsched."""

import subprocess
import sys
from pathlib import Path

import pytest

LOOK = """
import decimal, faulthandler, gc, importlib, locale, logging, os, pkgutil, random, signal, sys
import threading, warnings
import highspy, matplotlib, numpy, numba, pyomo.environ, scipy

def state():
    random.seed(0)
    loggers = {name: logging.getLogger(name) for name in ("", "pyomo", "pyomo.core", "numba")}
    return {
        "signals": [signal.getsignal(number) for number in signal.valid_signals()],
        "hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook, sys.displayhook),
        "warnings": list(warnings.filters),
        "loggers": {n: (o.level, o.handlers[:], o.filters[:]) for n, o in loggers.items()},
        "environment": sorted(hash(item) for item in os.environ.items()),
        "decimal": repr(decimal.getcontext()),
        "numpy": (numpy.geterr(), numpy.get_printoptions()),
        "random": (random.getstate(), str(numpy.random.get_state())),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()),
        "collector": (gc.isenabled(), gc.get_threshold()),
        "pictures": (dict(matplotlib.rcParams), matplotlib.get_backend()),
        "places": (os.getcwd(), sys.path[:], locale.setlocale(locale.LC_ALL)),
        "threads": threading.active_count(),
        "finders": sys.meta_path[:],
        "faulthandler": faulthandler.is_enabled(),
    }

before = state()
import gangsched
names = [found.name for found in pkgutil.walk_packages(gangsched.__path__, "gangsched.")]
names = [name for name in names if not name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
after = state()
assert len(names) > 200, len(names)
print(*[f"{what}: {before[what]} -> {after[what]}" for what in before
        if before[what] != after[what]], sep="\\n")
"""


@pytest.mark.process
def test_importing_everything_changes_nothing_of_the_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr[-2000:]
