import json
import os
import re
import shlex
from itertools import pairwise

import pytest

from studies.models.real import TEXTS
from tools.notebooks import checkout
from tools.tutorial import PAGE, RECORD, follow, sections


def test_a_section_s_blocks_run_one_after_another_where_the_last_ones_led_and_a_run_goes_on(tmp_path):
    one, other, last = (
        f"```bash\n{code}\n```" for code in ("mkdir in\ncd in", "echo a >there", "cat there >>../seen\npwd")
    )
    page = ("# Page", one, "## One", one, "Text", other, "## Two", last, "## Three", "Nothing")
    commands = sections("\n\n".join(page))
    assert commands == {"One": "mkdir in\ncd in\necho a >there\n", "Two": "cat there >>../seen\npwd\n"}
    for _ in range(2):
        record = follow(commands, tmp_path, dict(os.environ))
    assert (tmp_path / "seen").read_text() == "a\n" and record["Two"]["output"] == ["in"]
    assert record == json.loads((tmp_path / RECORD.name).read_text()) and record["One"]["seconds"] >= 0
    with pytest.raises(SystemExit, match="^echo why; false\n\nwhy"):
        follow({"Three": "echo why; false\n"}, tmp_path, {})


def test_the_page_s_commands_make_a_report_and_each_reads_what_those_before_it_made():
    commands = sections((checkout() / PAGE).read_text(encoding="utf-8"))
    assert list(commands)[0] == "Install" and list(commands.values())[-1].endswith("--out report.html\n")
    there = {"gemma3-270m.gguf", *TEXTS}
    for block in commands.values():
        for command in (shlex.split(line) for line in block.splitlines() if line.startswith("vocab-lit")):
            read = {value for name, value in pairwise(command) if name in ("--text", "--keep-text", "--test")}
            read.add(command[2])
            assert read <= there, command
            there |= {value for name, value in pairwise(command) if name == "--out"}


def test_the_page_shows_what_its_commands_took_and_measured():
    record = json.loads((checkout() / RECORD).read_text(encoding="utf-8"))
    text = (checkout() / PAGE).read_text(encoding="utf-8")
    assert {title: entry["commands"] for title, entry in record.items()} == sections(text)
    shown = re.findall(r"^\| (?!\*|-|section)(.+?) \| (\d+) \| (\d+) \| [\d.]+ \|$", text, re.M)
    assert shown == [(title, str(entry["seconds"]), str(entry["cpu_seconds"])) for title, entry in record.items()]
    assert sum(entry["seconds"] for entry in record.values()) < 600
    measured = "\n".join(record["Measure"]["output"])
    before, after = re.findall(r"bits per byte +([\d.]+)", measured)
    assert float(after) < float(before) and f"{before} → {after}" in text
    assert set(re.findall(r"\d,\d{3}", measured)) >= set(re.search(r"tokens: ([\d,]+) → ([\d,]+)\.", text).groups())
