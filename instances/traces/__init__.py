"""Readers of job logs, one file a format; :data:`READERS` holds them by name."""

from __future__ import annotations

from .alibaba import read_alibaba as read_alibaba
from .alibaba import read_alibaba_nodes as read_alibaba_nodes
from .auto import READERS as READERS
from .auto import read_auto as read_auto
from .auto import recognise as recognise
from .chronus import read_chronus as read_chronus
from .export import read_csv as read_csv
from .export import read_parquet as read_parquet
from .gavel import read_gavel as read_gavel
from .helios import read_helios as read_helios
from .helios import read_vc_sizes as read_vc_sizes
from .json_logs import read_json as read_json
from .philly import read_philly_csv as read_philly_csv
from .philly import read_philly_json as read_philly_json
from .presets import read_acme as read_acme
from .presets import read_alibaba_dlrm as read_alibaba_dlrm
from .presets import read_alibaba_pai as read_alibaba_pai
from .presets import read_alibaba_spot as read_alibaba_spot
from .presets import read_itp as read_itp
from .presets import read_supercloud as read_supercloud
from .sacct import read_sacct as read_sacct
from .swf import read_swf as read_swf
from .trace import LogRow as LogRow
from .trace import ReadReport as ReadReport
from .trace import Trace as Trace
from .write import write_trace as write_trace
