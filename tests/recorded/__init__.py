"""What is recorded: functions of a new folder, which use commands and public names alone.

A later change adds a function with `@entry` to one of the modules, and its record with
`python tests/recording.py record tests/golden/recording.json NAME`. With `@wide` each of its cases
is kept as a check sum, and the record goes to `tests/golden/recording-wide.json`.
"""

from . import bounds, calls, commands, examples, figures, options, parts, policies
from . import wide as wide
from . import wide_more as wide_more
from . import wide_parts as wide_parts
from .table import ENTRIES

#: the longest, which come last so that `check --first` sees most changes early
LAST = (
    "policies_on_a_log", "looks_of_reports", "pages_of_figures", "theorems",
    "policies_with_deadlines",
    "rules_of_a_run", "figure_unisched_fig9", "figure_rar_ddls_fig6", "figure_unisched_fig6",
    "many_jobs", "many_queues", "many_rar_ddls", "many_irmp",
)  # fmt: skip
for _name in [name for name in ENTRIES if name not in ("examples", *LAST)] + list(LAST):
    ENTRIES[_name] = ENTRIES.pop(_name)  # after the examples, which are short and see most

__all__ = [
    "ENTRIES", "bounds", "calls", "commands", "examples", "figures", "options", "parts", "policies",
]  # fmt: skip
