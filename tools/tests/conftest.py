import pytest

from tools.tests.toys import DEMO, SETTINGS, write_notebook


@pytest.fixture
def toy(tmp_path):
    "A library notebook in a repository without anything else."
    return write_notebook(tmp_path / "nbs" / "00_toy.ipynb", *DEMO)


@pytest.fixture
def repo(toy):
    "A repository with one library notebook."
    root = toy.parent.parent
    (root / "settings.ini").write_text(SETTINGS)
    return root
