import ast
import copy
import re
import tempfile
import warnings
from functools import cache

import numpy as np
import pytest
import torch

from tools.appendix import TAG
from tools.notebooks import checkout, read_notebook, source, tags
from vocab_lit.study import (
    exercises,
    exercises_embedding_structure,
    exercises_mad_x,
    exercises_unks,
    exercises_wechsel,
)
from vocab_lit.study.exercises import EXERCISES, Verdict

# chapters that are held to the form of a lesson
LESSONS = ("focus", "embedding-structure", "mad-x", "unks-everywhere", "wechsel")
SECTIONS = [
    *("Question", "Idea", "By hand", "In the library", "The experiment", "Where it fails", "Exercises"),
    "In five lines",
]
MOST_CELLS, MOST_LINES = 50, 8
SILENT = {"remove-cell", "remove-input"}
SOLUTION = "hide-cell"


def notebook(name):
    return read_notebook(checkout() / "book" / f"{name}.ipynb")


def code_of(nb):
    return [cell for cell in nb["cells"] if cell["cell_type"] == "code" and "parameters" not in tags(cell)]


def assigned(code):
    "The names that a cell assigns outside functions."
    nodes = [node for top in ast.parse(code).body if isinstance(top, ast.Assign | ast.For) for node in ast.walk(top)]
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def parameters(nb):
    "The names of a notebook's parameters."
    return set().union(*(assigned(source(cell)) for cell in nb["cells"] if "parameters" in tags(cell)))


def visible(nb):
    return [source(cell) for cell in code_of(nb) if not {*SILENT, SOLUTION} & set(tags(cell))]


def solutions(nb):
    return [source(cell) for cell in code_of(nb) if SOLUTION in tags(cell)]


def asked(cells):
    return re.findall(r'^check\("([\w-]+)"', "\n".join(cells), re.M)


@pytest.mark.parametrize("name", LESSONS)
def test_no_cell_of_a_lesson_changes_a_parameter_which_the_chapter_reads_later(name):
    nb = notebook(name)
    assert {"language", "scale", "records"} <= parameters(nb)
    assert [cell for cell in code_of(nb) if parameters(nb) & assigned(source(cell))] == []


def faults(nb):
    "Where a chapter has not the form of a lesson."
    written = "\n".join(source(cell) for cell in nb["cells"] if cell["cell_type"] == "markdown")
    found = []
    if (sections := re.findall("^## (.+)$", written, re.M)) != SECTIONS:
        found.append(f"its sections are {sections}")
    if len(nb["cells"]) > MOST_CELLS:
        found.append(f"it has {len(nb['cells'])} cells")
    displayed = re.findall(r"^\$\$.*?\$\$", written, re.M | re.S)
    numbers = [int(number) for number in re.findall(r"\\tag\{(\d+)\}", "".join(displayed))]
    if len(displayed) < 4 or numbers != [*range(1, len(displayed) + 1)]:
        found.append(f"it has {len(displayed)} equations, with the numbers {numbers}")
    if len(visible(nb)) < 6:
        found.append(f"it shows {len(visible(nb))} cells of code")
    short = [source(cell) for cell in code_of(nb) if SOLUTION not in tags(cell)]
    found += [f"{code[:40]!r} is long" for code in short if len(code.splitlines()) > MOST_LINES]
    found += [f"{code[:40]!r} needs the checkout" for code in visible(nb) if "studies" in code]
    named = asked(visible(nb))
    if len(set(named)) < 5 or named != asked(solutions(nb)) or not set(named) <= set(EXERCISES):
        found.append(f"its exercises are {named}, and solved are {asked(solutions(nb))}")
    if any(TAG in tags(cell) for cell in nb["cells"]):
        found.append("it has an appendix")
    return found


@pytest.mark.parametrize("name", LESSONS)
def test_a_chapter_has_the_form_of_a_lesson(name):
    assert faults(notebook(name)) == []


def test_what_is_no_lesson_is_told():
    def changed(change):
        nb = copy.deepcopy(notebook("focus"))
        change(nb["cells"])
        return faults(nb)

    def first(cells, text):
        return next(cell for cell in cells if text in source(cell))

    def rewrite(text, old, new):
        return changed(lambda cells: first(cells, text).update(source=source(first(cells, text)).replace(old, new)))

    assert "sections" in rewrite("## Idea", "## Idea", "## Method")[0]
    assert rewrite("\\tag{2}", "\\tag{2}", "")[0].endswith("numbers [1, 3, 4, 5]")
    assert "is long" in rewrite("unit = S", "c.round", "\n" * 8 + "c.round")[0]
    assert "needs the checkout" in rewrite("import numpy", "import numpy", "import studies\nimport numpy")[0]
    assert "exercises" in rewrite('check("focus-3"', "focus-3", "focus-33")[0]
    assert "51 cells" in changed(lambda cells: cells.extend([cells[-1]] * (51 - len(cells))))[-1]
    assert "appendix" in changed(lambda cells: cells[-1].update(metadata={"tags": ["appendix"]}))[0]
    hidden = changed(lambda cells: [cell["metadata"].update(tags=["remove-cell"]) for cell in cells])
    assert "it shows 0 cells of code" in hidden


def run(code, names):
    "Run a cell; the value of its last line, where that is an expression."
    *statements, last = ast.parse(code).body
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return exec(compile(ast.Module([last], []), "cell", "exec"), names)


@cache
def ran(name):
    "What the cells leave that a chapter shows, run in an empty notebook, and the values that they end in."
    nb, names, ends = notebook(name), {}, {}
    shown = [source(cell) for cell in code_of(nb) if not SILENT & set(tags(cell))]
    with tempfile.TemporaryDirectory() as empty, pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the text is short for fastText, which FOCUS's chapter is about
        patch.chdir(empty)
        for code in shown:
            ends[code] = run(code, names)
    return nb, names, ends


@pytest.mark.parametrize("name", LESSONS)
def test_exercises_are_open_and_their_solutions_right(name):
    nb, _, ends = ran(name)
    for cells, right in ((visible(nb), False), (solutions(nb), True)):
        verdicts = [ends[code] for code in cells if isinstance(ends[code], Verdict)]
        assert len(verdicts) == 5 and {bool(verdict) for verdict in verdicts} == {right}


def test_the_library_gives_what_was_computed_by_hand():
    _, names, ends = ran("focus")
    # sparsemax by its definition, the nearest point of the simplex, on a grid of hundredths
    simplex = np.array([(a, b, 100 - a - b) for a in range(101) for b in range(101 - a)]) / 100
    for cosines, weights in zip(names["c"], names["w"]):
        nearest = simplex[((simplex - cosines) ** 2).sum(1).argmin()]
        assert np.allclose(weights, nearest, atol=0.011)
    of_library = next(end for code, end in ends.items() if "import sparsemax_weights" in code)
    assert np.allclose(of_library, names["E_new"], atol=0.006)
    difference = next(end for code, end in ends.items() if "by_hand" in code)
    assert difference < 1e-6


def test_the_checks_know_the_numbers_of_the_chapter():
    _, names, ends = ran("focus")
    assert np.array_equal(exercises.STATIC, names["S"][:3]) and np.array_equal(exercises.ZIWA, names["S"][3])
    assert list(exercises.OVERLAPPING) == names["tokens"][:3]
    assert {"▁Syria", "▁Lebanon", "▁Algeria"} <= set(names["parts"].source)  # as Figure 1 says
    sources = next(end for code, end in ends.items() if "fasttext" in code)
    assert sources["fastText"] > 20 * sources["counts"]


def test_the_library_samples_what_was_sampled_by_hand():
    _, names, ends = ran("embedding-structure")
    of_library = next(end for code, end in ends.items() if "plan.apply" in code)
    assert np.allclose(of_library, names["E_target"], atol=0.006)
    E, z = names["E"], names["z"]
    # the plane is the one that loses least: the singular values of what it leaves out are the smallest
    left, lost = np.linalg.svd(E - E.mean(0), compute_uv=False), ((E - E.mean(0)) ** 2).sum() - (z**2).sum()
    assert lost == pytest.approx((left[2:] ** 2).sum())
    assert np.allclose(names["sigma"][0], [0.5, 1, 0.5]) and np.allclose(names["mu"], [[3.5, 0, 0.5], [0.5, 0, -1.5]])
    assert exercises_embedding_structure.INITIAL.tolist() == names["initial"].tolist()


def test_the_structure_of_embeddings_is_as_the_page_says():
    _, names, ends = ran("embedding-structure")
    share = next(end for code, end in ends.items() if "to_initial" in code)
    assert 0.8 < share < 1
    once, again = next(end for code, end in ends.items() if "argmax" in code)
    assert once != again  # neighbours of samples are chance
    steps = [[step for step, _ in plan] for plan in next(end for code, end in ends.items() if "amharic" in code)]
    assert steps == [["Copy", "StandardNormal"], ["Copy", "Gaussian"]]


def test_factors_by_hand_are_the_best_of_rank_one():
    _, names, ends = ran("unks-everywhere")
    E, product = names["E"], names["F"] @ names["G"]
    singular = np.linalg.svd(E)[1]  # the best of rank one has no negative direction here
    assert np.linalg.norm(E - product) == pytest.approx(np.linalg.norm(singular[1:]))
    differences = [end for code, end in ends.items() if "import semi_nmf" in code or "by_hand" in code]
    assert len(differences) == 2 and max(differences) < 1e-6


def test_a_new_vocabulary_copies_what_its_recipe_says():
    _, names, _ = ran("unks-everywhere")
    E, G, el_rand, el_lex = (names[name] for name in ("E", "G", "el_rand", "el_lex"))
    assert (el_rand == E).all(1).tolist() == [True, False, False, False, False]
    assert (el_lex == E).all(1).tolist() == [True, True, True, False, False]
    assert np.array_equal(names["F_target"][:3], names["F"][:3])
    nearest, *_ = np.linalg.lstsq(G.T, el_lex[3:].T, rcond=None)
    assert np.allclose(names["projected"][3:].T, nearest) and not np.allclose(names["F_target"], names["projected"])


def test_in_an_unread_script_all_starts_are_above_the_guess():
    starts = dict(ran("unks-everywhere")[1]["starts"])
    guess = starts.pop("uniform guess")
    assert min(starts.values()) > guess and max(starts, key=starts.get) == "mf1-lex"


def test_checks_know_the_tokens_of_unks_everywhere():
    _, names, _ = ran("unks-everywhere")
    assert np.array_equal(exercises_unks.EMBEDDINGS, names["E"])
    assert list(exercises_unks.TOKENS) == names["source"]


def test_the_rotation_by_hand_is_the_best_of_many():
    from scipy.stats import ortho_group

    _, names, _ = ran("wechsel")
    A, B, R = names["A"], names["B"], names["R"]
    others = ortho_group.rvs(3, 5000, random_state=0)  # with reflections
    assert np.allclose(R @ R.T, np.eye(3))
    assert np.linalg.norm(A @ R - B) < min(np.linalg.norm(A @ other - B) for other in others)
    assert np.array_equal(A, exercises_wechsel.ENGLISH) and names["pairs"] == [*map(tuple, exercises_wechsel.PAIRS)]


def test_the_library_weighs_neighbours_as_by_hand():
    _, names, ends = ran("wechsel")
    w, s = names["w"], names["s"]
    assert (np.count_nonzero(w, axis=1) == 3).all() and np.allclose(w.sum(1), 1)
    for weights, cosines in zip(w, s):  # by the definition: log-odds are differences of cosines over the temperature
        near = np.flatnonzero(weights)
        assert np.allclose(np.diff(np.log(weights[near])), np.diff(cosines[near]) / 0.1)
    assert next(end for code, end in ends.items() if "import nearest" in code) < 1e-6
    assert next(end for code, end in ends.items() if "by_hand" in code) < 1e-6
    for text, vector in zip(("maziwa", "ziwa"), next(end for code, end in ends.items() if "ngrams[x]" in code)):
        assert np.allclose(vector, names["words"][text])


def test_a_wrong_dictionary_shows_in_cosines_more_than_in_the_loss():
    _, _, ends = ran("wechsel")
    cosines = next(end for code, end in ends.items() if "known_pairs" in code)
    losses = next(end for code, end in ends.items() if "wrong_start" in code)
    assert cosines["wrong"] < 0.6 * cosines["right"]
    assert losses["right"] < losses["wrong"] < losses["right"] + 0.5 < losses["random mapping"]


def test_the_solution_is_right_also_where_a_reader_has_changed_a_number_as_the_page_invites():
    nb, names, _ = ran("mad-x")
    changed = {**names, "U_F": names["U_F"] + 1}
    asked, solved = ([code for code in cells if '"mad-x-2"' in code] for cells in (visible(nb), solutions(nb)))
    assert not run(asked[0], changed) and run(solved[0], changed)


def test_adapters_by_hand_are_those_of_torch():
    _, names, ends = ran("mad-x")
    as_tensors = {name: torch.tensor(names[name]).double() for name in ("a", "r", "D_L", "U_L", "D_T", "U_T")}
    a, r, down, up, task_down, task_up = as_tensors.values()

    def layer_norm(x):
        return torch.nn.functional.layer_norm(x, (4,), eps=0)

    language = torch.relu(layer_norm(a + r) @ down) @ up
    below = layer_norm(language + r + a)
    stacked = torch.relu(below @ task_down) @ task_up
    assert np.allclose(names["h_L"], below)
    assert np.allclose(names["library"], layer_norm(stacked + language + r + a))
    task = torch.relu((language + r) @ task_down) @ task_up
    assert np.allclose(names["paper"], layer_norm(task + r + a))
    assert abs(names["paper"] - names["library"]).max() > 0.5
    by_library = next(end for code, end in ends.items() if "import Bottleneck" in code)
    assert by_library < 1e-6


def test_the_inverse_by_hand_gives_embeddings_back_that_moved():
    _, names, ends = ran("mad-x")
    out = next(end for code, end in ends.items() if "o2 = e2" in code)
    assert abs(out - names["a"]).max() > 1
    assert next(end for code, end in ends.items() if "back2 = o2" in code) == 0


def test_two_sentences_of_unknown_tokens_are_one():
    _, names, ends = ran("mad-x")
    (first, second), apart = next(end for code, end in ends.items() if "convert_ids_to_tokens" in code)
    assert first == second and names["sentences"][0] != names["sentences"][1] and "<unk>" in first
    assert apart == 0


def test_the_checks_know_the_numbers_of_mad_x():
    _, names, _ = ran("mad-x")
    assert np.array_equal(exercises_mad_x.A, names["a"]) and np.array_equal(exercises_mad_x.R, names["r"])
    for name in ("D_L", "U_L", "D_T", "D_F", "U_F", "D_G", "U_G"):
        assert np.array_equal(getattr(exercises_mad_x, name), names[name]), name
