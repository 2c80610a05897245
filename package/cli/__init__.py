"""The command line."""

from .compare import main as main
