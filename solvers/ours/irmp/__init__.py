"""Ours for IRMP: the bound by columns, lists and search, the optimum, and rules as time goes on."""
