"""YARN-CS: what decides, in Python and as machine code."""
