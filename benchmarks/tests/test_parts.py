"""The parts in tiny sizes: their cases, what they compute, and how their results are compared."""

import itertools
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from benchmarks.claims import Runs
from benchmarks.focus import compare_rows, focus, focus_cases
from benchmarks.focus_process import compare_saved, focus_process, process_cases
from benchmarks.lapt import count_flops, random_model, step_clock
from benchmarks.memory import write_text
from benchmarks.nmf import embedding_like, printed_steps
from benchmarks.parts import PARTS
from benchmarks.runner import Sizes, run_part
from benchmarks.wechsel import compare_neighbours, wechsel, wechsel_cases
from testkit.made import TINY, write_zipf_text
from testkit.peers import open_case, peer_python
from testkit.process import measure
from testkit.toy_tokenizers import toy_tokenizer
from vocab_lit.methods.plan import Plan
from vocab_lit.methods.semi_nmf import semi_nmf
from vocab_lit.tokens.vocab import Vocab, overlap
from vocab_lit.training.lm_data import MaskedBlocks
from vocab_lit.vectors.word_vectors import read_vectors


def vocabularies(folder: Path) -> tuple[Vocab, Vocab]:
    return tuple(Vocab.from_tokenizer(tokenizer) for tokenizer in open_case(folder)[:2])


@pytest.fixture(scope="module")
def focus_folder(tmp_path_factory) -> Path:  # of 40 target tokens, with the result of this package
    case = next(focus_cases(tmp_path_factory.mktemp("focus"), (40,), True))
    measured = measure(focus, case.arguments, case.warm_up)
    assert case.name == "100 to 40 tokens, 10 shared"
    assert measured["cpu_seconds"] > 0 and measured["extra_mb"] >= 0
    return Path(case.arguments["folder"])


def test_a_case_has_the_sizes_asked_for_and_every_target_token_has_a_vector(focus_folder):
    _, new, embeddings = open_case(focus_folder)
    source, target = vocabularies(focus_folder)
    assert (len(source), len(target), len(embeddings)) == (100, 40, 100)
    assert (overlap(source, target) >= 5).sum() == 10
    vectors = read_vectors(focus_folder / "vectors.bin", new)
    assert vectors.known.sum() == 35 == len(np.unique(vectors.matrix[vectors.known], axis=0))


def test_rows_that_differ_are_counted_as_they_differ(focus_folder):
    rows, embeddings = np.load(focus_folder / "vocab_lit.npy"), open_case(focus_folder)[2]
    is_copied = overlap(*vocabularies(focus_folder)) >= 0

    def compared(row=0, value=None):
        peer = rows.copy()
        if value is not None:
            peer[row] = value
        np.save(focus_folder / "deepfocus.npy", peer)
        return compare_rows(focus_folder)

    same = {"copied alike": 15, "mixed": 25, "largest difference": 0, "copied otherwise": 0, "which": ""}
    assert compared() == same
    mixed, copied = np.flatnonzero(~is_copied)[0], np.flatnonzero(is_copied)[-1]
    assert abs(compared(mixed, rows[mixed] + 0.5)["largest difference"] - 0.5) < 1e-5
    swapped = compared(copied, embeddings[0])
    assert [swapped[k] for k in ("copied alike", "copied otherwise", "which")] == [14, 1, "1 text"]


def test_saved_embeddings_that_differ_are_told_from_those_that_follow_from_other_copies(tmp_path):
    case = next(process_cases(tmp_path, (120,), True))
    for _ in range(2):  # a second round writes anew
        measure(focus_process, case.arguments)
    folder = Path(case.arguments["folder"])
    shutil.copytree(folder / "vocab_lit", folder / "deepfocus")
    compared = compare_saved(folder)
    assert compared["largest difference with the same copies"] < 1e-6
    assert [compared[k] for k in ("tokens", "copied otherwise", "which", "mixed otherwise")] == [120, 0, "", 0]
    with safe_open(folder / "deepfocus/model.safetensors", "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no dictionary
    table, plan = next(t for name, t in tensors.items() if "word_embeddings" in name), Plan.load(folder / "vocab_lit")
    other, token = np.flatnonzero(plan.copied >= 0)[-2:]
    table[token] = table[other]
    table[np.flatnonzero(plan.copied < 0)[-1]] += 1
    save_file(tensors, folder / "deepfocus/model.safetensors", {"format": "pt"})
    compared = compare_saved(folder)
    assert [compared[k] for k in ("copied otherwise", "which", "mixed otherwise")] == [1, "1 text", 1]
    assert compared["largest difference with the same copies"] > 0.9


def test_neighbours_are_compared_by_token_and_differences_find_their_reason(tmp_path):
    case = next(wechsel_cases(tmp_path, (40,), True))
    measure(wechsel, case.arguments)
    folder = Path(case.arguments["folder"])
    rows, (source, target, _) = np.load(folder / "vocab_lit.npy"), open_case(folder)
    plan = Plan.load(folder / "plan.npz", Vocab.from_tokenizer(target))

    def told(i):  # our neighbours of a token, as the other side would tell them
        row = plan.weights[[i]]
        similarities = 0.9 + 0.1 * np.log(row.data / row.data.max())
        return source.convert_ids_to_tokens(row.indices.tolist()), similarities.tolist()

    def compared(sources, moved=0.0):
        peer = rows.copy()
        peer[-3:] += moved
        np.save(folder / "wechsel.npy", peer)
        (folder / "sources.json").write_text(json.dumps(sources))
        return compare_neighbours(folder)

    same = {target.convert_ids_to_tokens(i): told(i) for i in range(5, 40)}
    assert compared(same) == {"same neighbours": 35, "special or no text": 5, "largest difference": 0}
    assert abs(compared(same, moved=0.25)["largest difference"] - 0.25) < 1e-6
    first = target.convert_ids_to_tokens(5)
    tokens, near = same[first]
    assert compared(same | {first: (["<s>", *tokens[1:]], near)})["special or pieces mixed in"] == 1
    assert compared({k: v for k, v in same.items() if k != first})["vector on one side only"] == 1
    other = next(t for t in source.get_vocab() if t.startswith("▁") and t not in tokens)
    last = int(np.argmin(near))
    swapped = [other if i == last else t for i, t in enumerate(tokens)]
    assert compared(same | {first: (swapped, near)})["equally near"] == 1
    farther = [n - 0.01 for n in near][:-1] + [0.1]
    assert compared(same | {first: (swapped, farther)})["other neighbours"] == 1


def test_the_operations_counted_are_those_of_the_formula():
    model, tokenizer = random_model(300, **TINY), toy_tokenizer("unigram", (f"w{i}" for i in range(295)))
    data = MaskedBlocks(torch.randint(5, 295, (4, 16), generator=torch.Generator().manual_seed(0)), 4, tokenizer)
    n, targets = 4 * 16, sum(int((row["labels"] != -100).sum()) for row in data)
    head = 32 * 32 + 32 * 300  # dense layer, vocabulary
    few, all_positions = (count_flops(model, data, at_labels) for at_labels in (True, False))
    assert all_positions - few == 6 * head * (n - targets)  # 2 forward, 4 backward for each weight and position
    assert few - 6 * head * targets >= 6 * n * 2 * (4 * 32 * 32 + 2 * 32 * 48)  # the encoder's weights, and attention


def test_the_clock_leaves_the_warm_up_out(monkeypatch):
    ticks = iter(range(99))
    monkeypatch.setattr("benchmarks.lapt.time", SimpleNamespace(perf_counter=lambda: next(ticks), process_time=int))
    clock = step_clock(2)
    for step in range(1, 6):
        clock.on_step_end(None, SimpleNamespace(global_step=step, max_steps=5), None)
    assert [wall for wall, _ in clock.times] == [0, 1, 2, 3]


def test_numbered_text_has_the_size_asked_for_and_no_line_twice(tmp_path):
    file = tmp_path / "text.txt"
    write_text(file, 0.1)
    written = file.read_text(encoding="utf-8").splitlines()
    assert abs(file.stat().st_size - 100_000) < 1000 and len(set(written)) == len(written) > 1000


def test_made_text_has_the_size_asked_for_and_its_different_words_grow_more_slowly(tmp_path):
    different = []
    for mb in (0.1, 0.4):
        write_zipf_text(tmp_path / "text.txt", mb)
        words = (tmp_path / "text.txt").read_text(encoding="utf-8").split()
        assert 0 <= len(" ".join(words).encode()) - mb * 10**6 < 200_000
        different.append(len(set(words)))
    assert 1.3 < different[1] / different[0] < 3


@pytest.mark.parametrize("n_tokens", [300, 5000])
def test_the_printed_updates_are_those_of_the_gram_matrix_in_50_steps_at_any_number_of_tokens(n_tokens):
    X, start = embedding_like(n_tokens, 48).astype(np.float64), np.random.RandomState(1).random_sample((10, 48)) + 1e-4
    expected = printed_steps(X, start, 50)
    assert abs(semi_nmf(X, 10, "mu", 50, seed=1).G[0] - expected).max() < 1e-6 * expected.max()


def matrix(a: int, b: int) -> float:  # GFLOP of all 4 x 16 positions times a matrix
    return 2 * (4 * 16) * a * b / 1e9


def test_no_operation_is_spent_below_the_first_trainable_module_of_a_task(trial):
    width, inside, tags, layers = 32, 2, 17, 2  # dimensions of the model and of the task adapter
    table = pd.DataFrame(trial["adapters"]["runs"])
    run = table.query("case == 'task on a language that stays' and side == 'vocab_lit'").iloc[0]
    invertible = 4 * matrix(16, 8)
    # projections, feed-forward, attention, language adapter
    body = 4 * matrix(width, width) + 2 * matrix(width, 48) + 2 * matrix(width, 16) + 2 * matrix(width, 16)
    below, layer = body + invertible, body + 2 * matrix(width, inside)
    forward = invertible + layers * layer + matrix(width, tags)
    # the first product after it needs no gradient; attention multiplies inputs with inputs, twice in each layer
    to_inputs = forward - below - matrix(width, inside) + (layers - 1) * 2 * matrix(width, 16)
    to_weights = layers * 2 * matrix(width, inside) + matrix(width, tags)
    assert run.below_gflop == pytest.approx(below, rel=1e-4)
    assert run.gflop == pytest.approx(forward + to_inputs + to_weights, rel=1e-4)
    assert run.trained == 2 * (2 * 32 * 2 + 32 + 2) + 33 * 17


def test_all_sides_train_the_same_weights_and_logits_at_labels_save_operations(trial):
    language = pd.DataFrame(trial["adapters"]["runs"]).query("size == 4").set_index("side")
    assert set(language.trained) == {2 * (2 * 32 * 16 + 48) + 2 * (2 * 16 * 8 + 24)}
    assert set(language.below_gflop) == {0}
    assert language.gflop["vocab_lit"] < 0.85 * language.gflop["all positions"]


def test_sides_that_do_the_same_come_to_the_same(trial):
    runs = {name: Runs(record) for name, record in trial.items()}
    assert {*runs["lapt"].table.side} == {"vocab_lit", "plain", "no head"}
    assert {*runs["focus"].table.side} == {"vocab_lit"} and trial["focus"]["checks"] == {}
    loss = {side: runs["lapt"].values("loss", side)[0] for side in ("vocab_lit", "plain", "no head")}
    assert abs(loss["vocab_lit"] - loss["plain"]) < 1e-4
    assert abs(loss["plain"] - np.log(300)) < 0.3 and loss["no head"] < 2
    errors = {side: runs["nmf"].values("error", side)[0] for side in ("vocab_lit", "hals")}
    assert 0 < errors["hals"] < errors["vocab_lit"] < 1
    moved = runs["transplant"].table
    assert list(moved.side) == ["vocab_lit", "loaded"] and moved.digest.nunique() == 1
    assert set(moved.tokens_mb) == {float(f"{2 * 300 * 128 * 2 / 2**20:.5g}")}
    for case, some in runs["load"].table.groupby("case"):
        assert len(some) == 2 and np.ptp(some.sums) <= 1e-3 * some.sums.max() and some.sums.min() > 0, case


@pytest.mark.slow
def test_a_part_runs_in_processes_beside_the_other_package_where_it_is_installed():
    def one_case(place, sizes, small):
        return itertools.islice(focus_cases(place, sizes, True), 1)

    folder = os.environ.get("VOCAB_LIT_PEERS", "_build/bench")
    record = run_part(replace(PARTS["focus"], sizes=Sizes((120,)), cases=one_case), 2, folder=folder)
    sides = ["vocab_lit", "deepfocus"] if peer_python("deepfocus", folder) else ["vocab_lit"]
    assert [run["side"] for run in record["runs"]] == sides * 2
    assert all(check["copied otherwise"] == 0 for check in record["checks"].values())
