"""Themis: its auction, in Python and as machine code."""
