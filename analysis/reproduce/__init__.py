"""The tables and figures of the papers, one file per stem."""
