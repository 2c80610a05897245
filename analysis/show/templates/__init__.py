"""Templates, style and script of the reports, read by :mod:`gangsched.analysis.show.page`."""
