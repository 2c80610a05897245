"""The least area first, and what else packs gangs anew."""
