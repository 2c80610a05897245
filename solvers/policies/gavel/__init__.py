"""Gavel's policies: time fractions by linear programs, and leases by them."""
