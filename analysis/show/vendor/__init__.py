"""The charts' library, written by others: see README.md."""
