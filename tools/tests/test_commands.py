from pathlib import Path
from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM
from typer.testing import CliRunner
from vocab_lit.app.cli import app
from vocab_lit.text.phrasebook import lines
from vocab_lit.tokens.tokenizer import train_tokenizer
import json
import os
import pytest
import re
import shlex
import subprocess
import sys
import tempfile
import typer
import vocab_lit
import tools.commands


@pytest.fixture(scope='module')
def cell_2eafc137():
    global config, place, root, run, tokenizer
    root = Path(vocab_lit.__file__).parent.parent
    place = Path(tempfile.mkdtemp())
    tokenizer = train_tokenizer(lines("en", 300, seed=0), "unigram", 400)
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=130,
    )
    XLMRobertaForMaskedLM(config).save_pretrained(place / "model")
    tokenizer.save_pretrained(place / "model")
    (place / "sw.txt").write_text("\n".join(lines("sw", 100, seed=0)), encoding="utf-8")


    def run(*arguments, code=0):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        assert result.exit_code == code, (result.exit_code, result.output, result.exception)
        return result.stdout if code == 0 else result.stderr


    print(run("bench"))


@pytest.fixture(scope='module')
def cell_720d6ef0():
    global called, written_calls
    def written_calls(text):  # the words of each
        for block in re.findall(r"```bash\n(.*?)```", text, re.S):
            for line in block.replace("\\\n", " ").splitlines():
                if found := re.search(r"(?:^|[ /])vocab-lit (.+)", line):
                    yield shlex.split(found[1], comments=True)


    def called(words):  # the command that these words call, and its options
        command, ctx = typer.main.get_command(app), None
        while hasattr(command, "commands"):
            (name, *words), ctx = words, typer.Context(command, parent=ctx)
            command = command.commands[name]
        given, rest, _ = command.make_parser(typer.Context(command, parent=ctx)).parse_args(words)
        assert not rest, f"{command.name}: {' '.join(rest)}"
        return command.name, given


    called(["lapt", "model-sw", "--text", "swahili.txt", "--steps", "10", "--out", "x"])


@pytest.fixture(scope='module')
def cell_1ed516b4(cell_2eafc137):
    global readme_blocks, run_readme_command
    def readme_blocks(text):  # (language, text) of each block of code, in order
        return re.findall(r"```(\w+)\n(.*?)```", text, re.S)


    def run_readme_command(block, folder):  # what it prints, errors too
        inside = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(root), "COLUMNS": "160"}
        command = block.replace("vocab-lit ", f"{sys.executable} -m tools.commands ")
        ran = subprocess.run(
            ["bash", "-ec", command],
            cwd=folder,
            env=os.environ | inside,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert ran.returncode == 0, ran.stdout
        return ran.stdout


def test_parts_of_the_benchmark_are_listed_and_measured(cell_2eafc137):
    listed = {r["part"]: r for r in json.loads(run("bench", "--folder", place / "peers", "--json"))}
    assert (
        {"focus", "wechsel", "nmf", "lapt", "adapters", "load", "transplant", "memory"} <= set(listed)
        and listed["focus"]["beside"] == "deepfocus (not installed)"
        and "nmf" in run("bench")
    )
    measured = run("bench", "nmf", "--small", "--folder", place / "peers", "--out", place / "bench.json")
    assert (
        "| vocab_lit" in measured
        and "grows with" in measured
        and json.loads((place / "bench.json").read_text())["nmf"]["runs"]
    )
    assert "no part 'fokus'" in run("bench", "fokus", code=1)


def test_a_chapter_s_parameters_are_checked_before_anything_runs_and_names_of_files_are_those_of_the_folder_one_is_in(cell_2eafc137):
    if not (Path(vocab_lit.__file__).parent.parent / "book").is_dir():
        pytest.skip("an installed package has no book")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        said = run("chapter", "focus", "--scale", "custom", "--set", "model=model", "--set", "text=sw.txt", "--dry-run")
        assert f"{place / 'model'}: folder" in said and f"{place / 'sw.txt'}: here" in said
        assert "focus has no parameter modle (did you mean model?); it has language, scale" in run(
            "chapter", "focus", "--set", "modle=x", "--dry-run", code=1
        )
        assert "claims has no parameter cluster" in run("chapter", "claims", "--cluster", "tcp://x:1", code=1)
        given = []
        patch.setattr("tools.run_pages.run_chapter", lambda *args, parameters: given.append(parameters))
        (place / "scheduler.json").touch()
        for cluster in ("tcp://x:1", "scheduler.json"):
            run("chapter", "focus", "--cluster", cluster)
        assert given == [{"cluster": "tcp://x:1"}, {"cluster": str(place / "scheduler.json")}]
        assert "--set seeds=two: give a number, such as 0" in run(
            "chapter", "focus", "--set", "seeds=two", "--dry-run", code=1
        )
        few = run(
            "chapter",
            "mad-x",
            "--scale",
            "paper",
            "--set",
            "kinds=high resource: en; not seen: no",
            "--set",
            "vocabulary=",
            "--set",
            "steps=20",
            "--dry-run",
        )  # blanks, colons, and a language that YAML takes for a truth value
        assert "wikiann (en, no)" in few and re.search("LAPT, whole model +2 +20 ", few)
        assert "scale custom needs text files: set text" in run(
            "chapter", "focus", "--scale", "custom", "--set", "model=model", "--dry-run", code=1
        )


def test_all_that_is_written_about_the_command_line_can_be_called(cell_2eafc137, cell_720d6ef0):
    if not (root / "README.md").is_file():
        pytest.skip("an installed package has no README and no book")
    pages = {
        p: p.read_text(encoding="utf-8")
        for p in (root / "README.md", *(root / "book").glob("*.md"), *(root / "book").glob("*.ipynb"))
    }
    pages = {
        p: "\n".join("".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "markdown")
        if p.suffix == ".ipynb"
        else text
        for p, text in pages.items()
    }
    found = [called(words)[0] for text in pages.values() for words in written_calls(text)]
    assert len(found) > 40 and {"inspect", "transplant", "lapt", "evaluate", "adapt", "init", "chapter", "explain"} <= set(
        found
    )
    with pytest.raises(Exception, match="No such option: --stpes"):
        called(["lapt", "x", "--text", "y", "--stpes", "3"])
    with pytest.raises(KeyError):
        called(["adapter", "learn", "x"])


def test_the_readme_is_short_and_names_what_a_change_must_pass(cell_2eafc137):
    if not (root / "README.md").is_file():
        pytest.skip("an installed package has no README")
    text = (root / "README.md").read_text(encoding="utf-8")
    assert len(re.sub("<!--.*?-->", "", text).split()) <= 800
    assert all(f"`make {target}`" in text for target in ("install", "test", "test-wheel", "book"))
    assert all((root / path).is_file() for path in re.findall(r"\]\(([\w./-]+)\)", text))


@pytest.mark.slow
def test_the_readme_s_commands_print_what_it_shows_and_its_python_runs(cell_2eafc137, cell_1ed516b4):
    if not (root / "README.md").is_file():
        pytest.skip("an installed package has no README")
    blocks = readme_blocks((root / "README.md").read_text(encoding="utf-8"))
    start = next(i for i, (_, block) in enumerate(blocks) if block.startswith("MODEL="))
    model = blocks[start][1].splitlines()[0]
    with tempfile.TemporaryDirectory() as empty:
        for (kind, command), (shown_as, shown) in zip(blocks[start : start + 6 : 2], blocks[start + 1 : start + 6 : 2]):
            assert (kind, shown_as) == ("bash", "text")
            printed = " ".join(run_readme_command(f"{model}\n{command}", empty).split())
            for line in shown.splitlines():
                assert " ".join(line.split()) in printed, line
        python = next(block for kind, block in blocks if kind == "python")
        (Path(empty) / "script.py").write_text(python, encoding="utf-8")
        run_readme_command("python script.py", empty)
        assert (Path(empty) / "model-700" / "model.safetensors").is_file()
