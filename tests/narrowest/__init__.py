"""A policy as its author would add it: one folder, and a row in the registry."""
