"""Measuring: bounds, ratios, metrics, plots and reports."""
