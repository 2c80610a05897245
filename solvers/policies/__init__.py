"""Policies of the field that belong to none of the papers, one file each."""
