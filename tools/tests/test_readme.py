"""What is written about the command line: README, the pages of the book and the chapters."""

import os
import re
import shlex
import subprocess
import sys

import pytest
import typer

import benchmarks.__main__
import studies.__main__
import vocab_lit.cli.main
from studies.trials.real_page import load_record
from testkit.phrasebook import lines
from testkit.tiny_gguf import llama_tokens, write_tiny
from tools.notebooks import checkout, read_notebook, source

ROOT = checkout()
PROGRAMS = {
    "vocab-lit": vocab_lit.cli.main.app,
    "python -m studies": studies.__main__.app,
    "python -m benchmarks": benchmarks.__main__.app,
}


def written_calls(text):
    "The calls in the blocks of a text: the program, and the words behind it."
    for block in re.findall(r"```bash\n(.*?)```", text, re.S):
        for line in block.replace("\\\n", " ").splitlines():
            if call := re.search(rf"(?:^|[ /])({'|'.join(PROGRAMS)}) (.+)", line):
                yield call[1], shlex.split(call[2], comments=True)


def called(program, words):
    "The command that these words call; an exception where it has no such option or argument."
    command, context = typer.main.get_command(PROGRAMS[program]), None
    while hasattr(command, "commands"):
        (name, *words), context = words, typer.Context(command, parent=context)
        if not (command := command.get_command(context, name)):
            raise KeyError(name)
    _, rest, _ = command.make_parser(typer.Context(command, parent=context)).parse_args(words)
    assert not rest, f"{command.name}: {' '.join(rest)}"
    return command.name


def prose(path):
    "The Markdown of a text or a notebook."
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    return "\n".join(source(cell) for cell in read_notebook(path)["cells"] if cell["cell_type"] == "markdown")


def test_all_that_is_written_about_the_command_line_can_be_called():
    book = ROOT / "book"
    pages = [ROOT / "README.md", *book.glob("*.md"), *book.glob("*.ipynb")]
    names = [called(*call) for page in pages for call in written_calls(prose(page))]
    expected = {"inspect", "transplant", "lapt", "evaluate", "adapt", "init", "chapter", "explain"}
    assert len(names) > 40 and expected <= set(names)
    with pytest.raises(Exception, match="No such option: --stpes"):
        called("vocab-lit", ["lapt", "x", "--text", "y", "--stpes", "3"])
    with pytest.raises(KeyError):
        called("vocab-lit", ["adapter", "learn", "x"])


def test_the_readme_is_short_and_names_what_a_change_must_pass():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.sub("<!--.*?-->", "", text).split()) <= 800
    assert all(f"`make {target}`" in text for target in ("install", "test", "types", "test-wheel", "book"))
    assert all((ROOT / path).is_file() for path in re.findall(r"\]\(([\w./-]+)\)", text))


def run_block(block, folder):
    "What a block of commands prints, errors too."
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "160"}
    command = block.replace("vocab-lit ", f"{shlex.quote(sys.executable)} -m vocab_lit ")
    both = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ran = subprocess.run(["bash", "-ec", command], cwd=folder, env=env, text=True, **both)
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def blocks_of(name):
    "The kind and the text of each block."
    return re.findall(r"```(\w+)\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.S)


def run_the_guide(n, folder):
    "Its first n commands print what is shown below each."
    blocks = blocks_of("book/guide.md")
    start = next(i for i, (_, block) in enumerate(blocks) if block.startswith("MODEL="))
    model, blocks = blocks[start][1].splitlines()[0], blocks[start : start + 2 * n]
    for (kind, command), (shown_as, shown) in zip(blocks[::2], blocks[1::2]):
        assert (kind, shown_as) == ("bash", "text")
        printed = " ".join(run_block(f"{model}\n{command}", folder).split())
        for line in shown.splitlines():
            assert " ".join(line.split()) in printed, line


def test_the_guide_s_first_commands_print_what_it_shows(tmp_path):
    run_the_guide(2, tmp_path)


@pytest.mark.slow  # another processor may give other last digits
def test_training_prints_what_the_guide_shows_and_the_readme_s_python_runs(tmp_path):
    run_the_guide(3, tmp_path)
    python = next(block for kind, block in blocks_of("README.md") if kind == "python")
    (tmp_path / "script.py").write_text(python, encoding="utf-8")
    run_block("python script.py", tmp_path)
    assert (tmp_path / "model-700" / "model.safetensors").is_file()


def test_the_readme_s_commands_by_hand_run_on_a_tiny_model(tmp_path):
    [commands] = [block for _, block in blocks_of("README.md") if block.startswith("vocab-lit trim")]
    for name, code in (("mine.txt", "sw"), ("english.txt", "en")):
        (tmp_path / name).write_text("\n".join(lines(code, 400, seed=0)), encoding="utf-8")
    write_tiny(tmp_path / "gemma3-270m.gguf", llama_tokens())
    run_block(commands.replace("--steps 200", "--steps 2"), tmp_path)
    assert (tmp_path / "mine.gguf").is_file()


def test_the_commands_of_the_real_model_s_record_can_be_called():
    entries = [entry for entry in load_record().values() if "command" in entry]
    assert {called("vocab-lit", entry["command"].split()[1:]) for entry in entries} == {
        *("inspect", "trim", "transplant", "lapt", "evaluate", "export")
    }
