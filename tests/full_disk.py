"""A disk without room: what is written comes to half, and then there is an error."""

import errno
import os
from pathlib import Path

import pytest

ROOM = 10  # bytes of each file


def fill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files hold no more than a few bytes."""
    write = Path.write_bytes

    def half(path: Path, data: bytes) -> int:
        write(path, data[:ROOM])
        if len(data) > ROOM:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return len(data)

    monkeypatch.setattr(Path, "write_bytes", half)
