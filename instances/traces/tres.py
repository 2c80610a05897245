"""How Slurm writes what a job has: trackable resources (TRES) by name or number, or GRES.

Slurm documentation, "Trackable RESources (TRES)", https://slurm.schedmd.com/tres.html, and "Generic
Resource (GRES) Scheduling", https://slurm.schedmd.com/gres.html.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from .trace import UNKNOWN

__all__ = ["gpu_count", "gpu_model", "tres_ids"]

#: one resource that is GPUs: gres/gpu=4, gres/gpu:a100=4, gpu:4, gpu:3090:4, gpu; a number alone
#: is the count, as Slurm has it
GPUS = re.compile(
    r"(?:gres[/:])?gpu(?::(?P<model>[^:=]+(?=[:=])|[^:=]*[^:=\d][^:=]*))?(?:[:=](?P<count>.*))?",
    re.IGNORECASE,
)
#: in the place of a model's name: -1, 1K, 2.5
NUMBER = re.compile(r"[+-]\s*\d.*|\d[\d.,]*\s*[KMGT]?", re.ASCII | re.IGNORECASE)
#: one resource by its number in Slurm's database
NUMBERED = re.compile(r"(?P<id>\d+)=\d[^\s=:]*", re.ASCII)
#: one resource that is something else: mem=64G, license/x=1, gres/shard:2
OTHER = re.compile(r"[A-Za-z_][^\s=]*[=:]\d[^\s=:]*", re.ASCII)
#: numbers up to here are Slurm's own resources, such as 1 for processors; sites' begin above
OWN = 1000


def tres_ids(text: str | None) -> frozenset[str]:
    """Return the numbers of resources that are GPUs, as the option `tres` of readers lists them.

    Examples
    --------
    >>> sorted(tres_ids("1001, 1002"))
    ['1001', '1002']
    """
    parts = [part.strip() for part in text.split(",")] if text is not None else []
    if not all(re.fullmatch(r"\d{1,9}", part, re.ASCII) for part in parts):
        raise ValueError(f"tres={text!r} does not list numbers of resources, such as 1001,1002")
    return frozenset(str(int(part)) for part in parts)


def gpu_count(text: str, ids: Collection[str] = ()) -> int | None:
    """Return the GPUs in a text of resources, None where it has none.

    Parameters
    ----------
    text : str
        Resources between commas.
    ids : collection of str
        Numbers of resources that are GPUs.

    Returns
    -------
    int or None
        The total where the text has one, else the sum over models.

    Raises
    ------
    ValueError
        Saying what is wrong with the text, to stand behind it.

    Examples
    --------
    >>> gpu_count("cpu=8,gres/gpu:a100=3,gres/gpu:v100=1"), gpu_count("cpu=8,gres/gpu:a100=3,gpu:4")
    (4, 4)
    >>> gpu_count("1=8,2=64G,1002=2", ids=["1001", "1002"]), gpu_count("cpu=8,license/x=1")
    (2, None)
    """
    totals: list[int] = []
    parts: list[int] = []
    for part in map(
        str.strip, re.sub(r"\(.*?\)", "", text.replace("(null):", "")).split(",")
    ):  # gpu:2(IDX:0-1)
        if part in UNKNOWN:
            continue
        if numbered := NUMBERED.fullmatch(part):
            id = str(int(numbered["id"]))
            if id in ids:
                parts.append(_count(part.partition("=")[2]))
            elif not ids and int(id) > OWN:
                raise ValueError(f"has resource {id}: say which are GPUs, such as tres={id}")
        elif gpus := GPUS.fullmatch(part):
            if gpus["count"] is None and NUMBER.fullmatch(gpus["model"] or ""):
                raise ValueError("has GPUs that are not an integer")
            count = 1 if gpus["count"] is None else _count(gpus["count"])  # gpu alone is one
            (totals if gpus["model"] is None else parts).append(count)
        elif not OTHER.fullmatch(part):
            raise ValueError("is not a number of GPUs, nor resources such as cpu=8,gres/gpu=4")
    return sum(totals or parts) if totals or parts else None


def gpu_model(text: str) -> str:
    """Return the one GPU model that a text of resources names, else nothing.

    Examples
    --------
    >>> gpu_model("cpu=8,gres/gpu=4,gres/gpu:a100=4"), gpu_model("gres/gpu:a100=1,gres/gpu:v100=1")
    ('a100', '')
    """
    found = map(GPUS.fullmatch, map(str.strip, re.sub(r"\(.*?\)", "", text).split(",")))
    models = {gpus["model"] for gpus in found if gpus and gpus["model"]}
    return models.pop() if len(models) == 1 else ""


def _count(text: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
        raise ValueError("has GPUs that are not an integer")
    return int(text)
