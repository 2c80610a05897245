"""Ours by the area that jobs have left: smallest area, and isolation area."""
