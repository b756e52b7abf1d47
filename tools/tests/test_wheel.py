import tarfile
import tomllib
import zipfile

import pytest

from tools.notebooks import checkout, settings
from tools.wheel import library_files, problems

DATA = ["languages.yml", "field/sources.csv", "report/report.html", "models/mini-xlmr/model.safetensors"]
DATA += ["papers.csv", "pre_tokenizers.yml", "tokenizers/bpe.json"]


def test_a_wheel_has_the_library_its_types_the_data_of_its_commands_and_nothing_of_the_workshop():
    modules = library_files(checkout())
    assert {"vocab_lit/__init__.py", "vocab_lit/py.typed", "vocab_lit/text/corpus.py"} <= modules
    files = [*modules, *(f"vocab_lit/data/{name}" for name in DATA), "vocab_lit-0.1.0.dist-info/METADATA"]
    assert problems(files, modules) == []
    more = ["tools/book.py", "vocab_lit/data/claims/focus.yml", "vocab_lit/data/models/field-xlmr/model.safetensors"]
    assert problems([name for name in [*files, *more] if name != "vocab_lit/py.typed"], modules) == [
        "vocab_lit/py.typed is not in the wheel",
        "tools/book.py does not belong into the wheel",
        "vocab_lit/data/claims/focus.yml is data that no command reads",
        "vocab_lit/data/models/field-xlmr/model.safetensors is data that no command reads",
    ]
    assert problems(list(modules), modules) == ["the wheel has no data"]


@pytest.mark.slow
def test_the_wheel_that_is_built_from_the_source_distribution_has_what_it_should(tmp_path):
    from build import ProjectBuilder

    source = ProjectBuilder(checkout()).build("sdist", tmp_path)
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    wheel = ProjectBuilder(unpacked).build("wheel", tmp_path)
    assert problems(zipfile.ZipFile(wheel).namelist(), library_files(checkout())) == []


def test_the_versions_of_python_are_those_of_the_settings():
    project = tomllib.loads((checkout() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cfg = settings()
    assert project["requires-python"] == f">={cfg['min_python']},<{cfg['below_python']}"
    assert project["name"] == cfg["lib_name"] and "version" in project["dynamic"]
