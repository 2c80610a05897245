"""Compiled code runs wherever Python does, also where nothing can be written."""

from __future__ import annotations

import logging

import pytest
from numba.core import caching

from gangsched.solvers import compiled as _compiled


def add_one(x: int) -> int:
    return x + 1


def test_without_a_folder_for_machine_code_functions_compile_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    _compiled._say_once.cache_clear()
    with caplog.at_level(logging.WARNING, logger="gangsched"):
        functions = [_compiled.compiled(add_one) for _ in range(2)]
    assert [f(1) for f in functions] == [2, 2]
    assert [f.py_func(1) for f in functions] == [2, 2]
    assert [record.message for record in caplog.records] == [
        "machine code cannot be kept: set NUMBA_CACHE_DIR to a folder that can be written"
    ]
