"""The declarative models, one module per paper."""
