"""HiveD: what decides, in Python and as machine code."""
