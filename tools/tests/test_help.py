"""Every `python -m` of the workshop says what it does before it does anything."""

import runpy
import sys

import pytest

from tools.checks import PLAIN
from tools.notebooks import checkout


def programs():
    "The modules that run as programs."
    root = checkout()
    files = [path for package in PLAIN for path in sorted((root / package).glob("*.py"))]
    runnable = [path for path in files if '__name__ == "__main__"' in path.read_text(encoding="utf-8")]
    return [".".join(path.relative_to(root).with_suffix("").parts) for path in runnable]


@pytest.mark.parametrize("module", programs())
def test_help_is_shown_and_nothing_is_written(module, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [module, "--help"])
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module.removesuffix(".__main__"), run_name="__main__")
    assert not ended.value.code
    assert "usage:" in capsys.readouterr().out.lower()
    assert not list(tmp_path.iterdir())
