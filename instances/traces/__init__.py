"""Readers of job logs, one file a format; :data:`READERS` holds them by name."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from .philly import read_philly_csv as read_philly_csv
from .philly import read_philly_json as read_philly_json
from .swf import read_swf as read_swf
from .trace import ReadReport as ReadReport
from .trace import Trace as Trace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .trace import Reader

READERS: Mapping[str, Reader] = MappingProxyType(
    {"philly-csv": read_philly_csv, "philly-json": read_philly_json, "swf": read_swf}
)
