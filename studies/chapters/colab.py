"""What the first cell of a Colab edition says and does, once the library is installed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import psutil

from studies.chapters.budget import on_this_machine
from studies.data.presets import PAPER_PARAMETERS


def runtime() -> str:
    "Cores, memory and disk of the machine at hand."
    memory, disk = psutil.virtual_memory(), shutil.disk_usage(Path.cwd())
    return (
        f"This runtime: {os.cpu_count()} cores, {memory.available / 1e9:.0f} of {memory.total / 1e9:.0f} GB of memory "
        f"and {disk.free / 1e9:.0f} GB of disk are free."
    )


def begin(
    chapter: str,  # the notebook `book/CHAPTER.ipynb`
    language: str,
    clone: Path,  # the checkout
    keep_on_drive: bool,  # the reader's Google Drive, which they are asked to open
) -> str:  # what the machine is, and what a chapter takes on it
    "Go to the folder that a notebook runs in; results go into ../_build."
    top = clone
    if keep_on_drive:
        from google.colab import drive

        drive.mount(str(clone.parent / "drive"))
        top = clone.parent / "drive" / "MyDrive" / clone.name
    here = top / "book"
    here.mkdir(parents=True, exist_ok=True)
    os.chdir(here)
    told = [runtime(), f"Results go to {here.parent / '_build'}."]
    return "\n".join([*told, on_this_machine(chapter, language)] if chapter in PAPER_PARAMETERS else told)
