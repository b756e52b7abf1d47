import warnings

import numpy as np
import pytest
import torch

from tools.tests.test_lessons import SILENT, code_of, notebook, run, solutions, source, tags, visible
from vocab_lit.study import exercises_mad_x as exercises
from vocab_lit.study.exercises import Verdict


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    "What the chapter's visible cells leave, run in an empty notebook, and the values that they end in."
    nb, names, ends = notebook("mad-x"), {}, {}
    shown = [source(cell) for cell in code_of(nb) if not SILENT & set(tags(cell))]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.chdir(tmp_path_factory.mktemp("empty"))
        for code in shown:
            ends[code] = run(code, names)
    return nb, names, ends


def test_exercises_of_mad_x_are_open_and_their_solutions_right(ran):
    nb, _, ends = ran
    for cells, right in ((visible(nb), False), (solutions(nb), True)):
        verdicts = [ends[code] for code in cells if isinstance(ends[code], Verdict)]
        assert len(verdicts) == 5 and {bool(verdict) for verdict in verdicts} == {right}


def test_the_solution_is_right_also_where_a_reader_has_changed_a_number_as_the_page_invites(ran):
    nb, names, _ = ran
    changed = {**names, "U_F": names["U_F"] + 1}
    asked, solved = ([code for code in cells if '"mad-x-2"' in code] for cells in (visible(nb), solutions(nb)))
    assert not run(asked[0], changed) and run(solved[0], changed)


def test_adapters_by_hand_are_those_of_torch(ran):
    _, names, ends = ran
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


def test_the_inverse_by_hand_gives_embeddings_back_that_moved(ran):
    _, names, ends = ran
    out = next(end for code, end in ends.items() if "o2 = e2" in code)
    assert abs(out - names["a"]).max() > 1
    assert next(end for code, end in ends.items() if "back2 = o2" in code) == 0


def test_two_sentences_of_unknown_tokens_are_one(ran):
    _, names, ends = ran
    (first, second), apart = next(end for code, end in ends.items() if "convert_ids_to_tokens" in code)
    assert first == second and names["sentences"][0] != names["sentences"][1] and "<unk>" in first
    assert apart == 0


def test_the_checks_know_the_numbers_of_mad_x(ran):
    _, names, _ = ran
    assert np.array_equal(exercises.A, names["a"]) and np.array_equal(exercises.R, names["r"])
    for name in ("D_L", "U_L", "D_T", "D_F", "U_F", "D_G", "U_G"):
        assert np.array_equal(getattr(exercises, name), names[name]), name
