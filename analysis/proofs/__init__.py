"""Bounds that nobody can beat: how they are found, and how anyone verifies them."""
