"""How a command of the command line ends."""

from __future__ import annotations

EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 1, 2, 130


class BadInput(Exception):
    """Input that cannot be used; its text is shown as one line."""


class Interrupted(Exception):
    """Ctrl-C, after what was finished has been shown and written."""
