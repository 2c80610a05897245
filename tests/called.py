"""A command in this process: how it ends, and what it prints."""

import pytest

from gangsched.cli import main


def called(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(arg) for arg in args])
    assert isinstance(ended.value.code, int)
    return ended.value.code, *capsys.readouterr()
