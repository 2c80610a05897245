"""The readers of job logs, by the names of their formats."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .alibaba import read_alibaba
from .chronus import read_chronus
from .export import read_csv, read_parquet
from .gavel import read_gavel
from .helios import read_helios
from .itp import read_itp
from .philly import read_philly_csv, read_philly_json
from .presets import read_acme, read_alibaba_pai, read_alibaba_spot, read_supercloud
from .sacct import read_sacct
from .swf import read_swf
from .trace import Reader

BY_FORMAT: Mapping[str, Reader] = MappingProxyType(
    {
        "csv": read_csv,
        "parquet": read_parquet,
        "acme": read_acme,
        "alibaba": read_alibaba,
        "alibaba-pai": read_alibaba_pai,
        "alibaba-spot": read_alibaba_spot,
        "chronus": read_chronus,
        "gavel": read_gavel,
        "helios": read_helios,
        "itp": read_itp,
        "philly-csv": read_philly_csv,
        "philly-json": read_philly_json,
        "sacct": read_sacct,
        "supercloud": read_supercloud,
        "swf": read_swf,
    }
)
