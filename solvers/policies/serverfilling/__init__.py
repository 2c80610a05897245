"""ServerFilling-SRPT of Grosof et al. 2022."""
