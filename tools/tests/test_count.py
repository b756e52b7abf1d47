from tools.count import code_lines, count

MODULE = '''"A module."

import os  # of the system


def _once(x):
    "Return one more."

    # a comment
    return x + 1


def _twice(x: Any) -> int:
    return _once(
        x
    )


print(_twice(1), _twice(2), """a string
of two lines""")
'''


def test_code_is_counted_without_docstrings_comments_blank_lines_and_imports():
    assert code_lines(MODULE) == 2 + 4 + 2


def test_private_functions_that_are_called_once_in_the_whole_package_are_found(tmp_path):
    module = tmp_path / "package" / "part" / "module.py"
    module.parent.mkdir(parents=True)
    module.write_text(MODULE)
    found = count(tmp_path / "package")["part"]
    assert [name.rpartition(": ")[2] for name in found.called_once] == ["_once"] and found.untyped == {"Any": 1}
    module.with_name("other.py").write_text("from part.module import _once\n")
    assert not count(tmp_path / "package")["part"].called_once
