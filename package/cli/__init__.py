"""The command line."""

from .app import main as main
