"""gangsched: GPU-cluster scheduling problems, algorithms and proven bounds."""

__version__ = "0.1.0"
