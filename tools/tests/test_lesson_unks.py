import warnings

import numpy as np
import pytest

from tools.tests.test_lessons import SILENT, code_of, notebook, run, solutions, source, tags, visible
from vocab_lit.study import exercises_unks
from vocab_lit.study.exercises import Verdict


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    "What the chapter's visible cells leave, run in an empty notebook, and the values that they end in."
    nb, names, ends = notebook("unks-everywhere"), {}, {}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.chdir(tmp_path_factory.mktemp("empty"))
        for code in [source(cell) for cell in code_of(nb) if not SILENT & set(tags(cell))]:
            ends[code] = run(code, names)
    return nb, names, ends


def end_of(ends, text):
    "What the cell with some text ends in."
    return next(end for code, end in ends.items() if text in code)


def test_exercises_are_open_and_their_solutions_right(ran):
    nb, _, ends = ran
    for cells, right in ((visible(nb), False), (solutions(nb), True)):
        verdicts = [ends[code] for code in cells if isinstance(ends[code], Verdict)]
        assert len(verdicts) == 5 and {bool(verdict) for verdict in verdicts} == {right}


def test_the_factors_by_hand_are_the_best_of_rank_one(ran):
    _, names, ends = ran
    E, product = names["E"], names["F"] @ names["G"]
    singular = np.linalg.svd(E)[1]  # the best of rank one has no negative direction here
    assert np.linalg.norm(E - product) == pytest.approx(np.linalg.norm(singular[1:]))
    assert (names["G"] >= 0).all()
    assert end_of(ends, "import semi_nmf") < 1e-6
    assert end_of(ends, "by_hand") < 1e-6


def test_a_new_vocabulary_copies_what_its_recipe_says(ran):
    _, names, _ = ran
    E, G, el_rand, el_lex = (names[name] for name in ("E", "G", "el_rand", "el_lex"))
    assert (el_rand == E).all(1).tolist() == [True, False, False, False, False]
    assert (el_lex == E).all(1).tolist() == [True, True, True, False, False]
    assert np.array_equal(names["F_target"][:3], names["F"][:3])
    nearest, *_ = np.linalg.lstsq(G.T, el_lex[3:].T, rcond=None)
    assert np.allclose(names["F_target"][3:].T, nearest)


def test_in_an_unread_script_all_starts_are_above_the_guess(ran):
    _, names, _ = ran
    starts = names["starts"]
    assert min(loss for method, loss in starts.items() if method != "uniform guess") > starts["uniform guess"]
    assert max(starts, key=starts.get) == "mf1-lex-drawn"


def test_the_checks_know_the_numbers_of_the_chapter(ran):
    _, names, _ = ran
    assert np.array_equal(exercises_unks.EMBEDDINGS, names["E"])
    assert list(exercises_unks.TOKENS) == names["source"]
