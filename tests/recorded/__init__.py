"""What is recorded: functions of a new folder, which use commands and public names alone.

A later change adds a function with `@entry` to one of the modules, and its record with
`python tests/recording.py record tests/golden/recording.json NAME`.
"""

from . import bounds, calls, commands, figures, parts, policies
from .table import ENTRIES

__all__ = ["ENTRIES", "bounds", "calls", "commands", "figures", "parts", "policies"]
