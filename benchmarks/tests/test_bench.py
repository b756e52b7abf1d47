from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from benchmarks.baselines import measure, open_case, peer_python
from benchmarks.bench import CLAIMS, Case, PARTS, Runs, _TINY, claims_table, compare_neighbours, compare_rows, count_flops, embedding_like, exponent, focus, focus_cases, grows, growth_table, printed_steps, random_model, report, run_bench, run_part, side_table, turns, wechsel, wechsel_cases, write_text, write_zipf_text
from vocab_lit.methods.plan import Plan
from vocab_lit.methods.semi_nmf import SemiNMF
from vocab_lit.tokens.vocab import Vocab, overlap, toy_tokenizer
from vocab_lit.training.lm_data import MaskedBlocks
from vocab_lit.vectors.word_vectors import read_vectors
import itertools
import json
import numpy as np
import os
import pytest
import tempfile
import time
import torch
import benchmarks.bench as bench


@pytest.fixture(scope='module')
def cell_f61f409a():
    global made_up
    made_up = Runs(
        dict(
            checks={},
            runs=[
                dict(
                    case=f"{n} rows", side=side, round=r, size=n, series="", cpu_seconds=t * n**power, extra_mb=n, peak_mb=n
                )
                for n in (10, 20, 40)
                for r in (0, 1)
                for side, t, power in (("vocab_lit", 1 + r, 1), ("other", 6, 2))
            ],
        )
    )
    made_up.growth()


@pytest.fixture(scope='module')
def cell_51ab214e():
    global case_folder, embeddings, new, old, ours, place, small_focus
    place = Path(tempfile.mkdtemp())
    small_focus = {case.size: case for case in focus_cases(place, (40, 120), True)}
    ours = {n: measure(focus, case.arguments, case.warm_up) for n, case in small_focus.items()}
    case_folder = Path(small_focus[40].arguments["folder"])
    old, new, embeddings = open_case(case_folder)
    np.load(case_folder / "vocab_lit.npy").shape


@pytest.fixture(scope='module')
def cell_57c37e73():
    global alone, small_wechsel, words_folder
    small_wechsel = next(wechsel_cases(Path(tempfile.mkdtemp()), (40,), True))
    alone = measure(wechsel, small_wechsel.arguments)
    words_folder = Path(small_wechsel.arguments["folder"])
    np.load(words_folder / "vocab_lit.npy").shape


@pytest.fixture(scope='module')
def cell_13d75eeb():
    global trial, tried
    trial = run_bench([*PARTS], None, small=True, folder="nowhere")
    tried = {name: Runs(record) for name, record in trial.items()}
    growth_table("focus", trial["focus"])


@pytest.fixture(scope='module')
def cell_7d2cd43f(cell_13d75eeb):
    global below, forward, in_task, inside, layer, layers, matrix, tags, to_inputs, to_weights, width
    width, inside, tags, layers = 32, 2, 17, 2  # dimensions of the model and of the task adapter


    def matrix(a, b):
        return 2 * (4 * 16) * a * b / 1e9  # GFLOP of all 4 x 16 positions times a matrix


    in_task = tried["adapters"].table.query("case == 'task on a language that stays' and side == 'vocab_lit'").iloc[0]
    below = (
        4 * matrix(width, width) + 2 * matrix(width, 48) + 2 * matrix(width, 16) + 2 * matrix(width, 16) + 4 * matrix(16, 8)
    )  # projections, feed-forward, attention; language adapter, invertible adapter
    layer = below - 4 * matrix(16, 8) + 2 * matrix(width, inside)
    forward = 4 * matrix(16, 8) + layers * layer + matrix(width, tags)
    to_inputs = (
        forward - below - matrix(width, inside) + (layers - 1) * 2 * matrix(width, 16)
    )  # the first product after it needs none; attention multiplies inputs with inputs, twice in each layer
    to_weights = layers * 2 * matrix(width, inside) + matrix(width, tags)
    forward + to_inputs + to_weights, in_task.gflop


def test_ratios_are_of_the_same_round_and_exponents_those_of_the_curves(cell_f61f409a):
    assert made_up.ratio("cpu_seconds", "other").tolist() == [6 * 40, 3 * 40] and made_up.ratio(
        "cpu_seconds", "other", 10
    ).tolist() == [60, 30]
    assert (
        made_up.ratio("cpu_seconds", "other", "20 rows").tolist() == [120, 60]
        and made_up.values("cpu_seconds", "nobody").size == 0
    )
    assert (
        grows("cpu_seconds")(made_up)[0] == pytest.approx(1)
        and grows("cpu_seconds", "other")(made_up)[0] == pytest.approx(2)
        and grows("cpu_seconds", "nobody")(made_up) == []
    )
    assert np.isnan(exponent([1, 2], [0, 3])) and exponent([1, 10], [2, 2]) == pytest.approx(0)


def test_a_case_has_the_sizes_asked_for_and_every_new_token_has_a_vector(cell_51ab214e):
    vectors = read_vectors(case_folder / "vectors.bin", new)
    assert (len(old), len(new), len(embeddings)) == (100, 40, 100) and (
        overlap(Vocab.from_tokenizer(old), Vocab.from_tokenizer(new)) >= 5
    ).sum() == 10
    assert (
        vectors.known.sum() == 35
        and len(np.unique(vectors.matrix[vectors.known], axis=0)) == 35
        and small_focus[120].name == "300 to 120 tokens, 30 shared"
    )
    assert all(o["cpu_seconds"] > 0 and o["extra_mb"] >= 0 for o in ours.values())


def test_rows_that_differ_are_counted_as_they_differ(cell_51ab214e):
    rows = np.load(case_folder / "vocab_lit.npy")


    def with_peer(change):
        peer = rows.copy()
        change(peer)
        np.save(case_folder / "deepfocus.npy", peer)
        return compare_rows(case_folder)


    is_copied = overlap(Vocab.from_tokenizer(old), Vocab.from_tokenizer(new)) >= 0
    first_copied, first_mixed = np.flatnonzero(is_copied)[-1], np.flatnonzero(~is_copied)[0]
    assert with_peer(lambda peer: None) == {
        "copied alike": 15,
        "mixed": 25,
        "largest difference": 0,
        "copied otherwise": 0,
        "which": "",
    }


    def move(peer):
        peer[first_mixed] += 0.5


    def swap(peer):
        peer[first_copied] = embeddings[0]


    assert abs(with_peer(move)["largest difference"] - 0.5) < 1e-5 and [
        with_peer(swap)[k] for k in ("copied alike", "copied otherwise", "which")
    ] == [14, 1, "1 text"]


def test_neighbours_are_compared_by_token_and_differences_find_their_reason(cell_57c37e73):
    rows, target = np.load(words_folder / "vocab_lit.npy"), open_case(words_folder)[1]
    source, plan = open_case(words_folder)[0], Plan.load(words_folder / "plan.npz", Vocab.from_tokenizer(target))


    def by(i):  # what the plan says, as the other side would tell it
        row = plan.weights[[i]]
        return source.convert_ids_to_tokens(row.indices.tolist()), (0.9 + 0.1 * np.log(row.data / row.data.max())).tolist()


    same = {target.convert_ids_to_tokens(i): by(i) for i in range(5, 40)}


    def with_sources(sources, change=lambda peer: None):
        peer = rows.copy()
        change(peer)
        np.save(words_folder / "wechsel.npy", peer)
        (words_folder / "sources.json").write_text(json.dumps(sources))
        return compare_neighbours(words_folder)


    def move(peer):
        peer[-3:] += 0.25


    first = target.convert_ids_to_tokens(5)
    tokens, near = same[first]
    assert (
        with_sources(same) == {"same neighbours": 35, "special or no text": 5, "largest difference": 0}
        and abs(with_sources(same, move)["largest difference"] - 0.25) < 1e-6
    )
    assert with_sources(same | {first: (["<s>", *tokens[1:]], near)})["special or pieces mixed in"] == 1
    assert with_sources({k: v for k, v in same.items() if k != first})["vector on one side only"] == 1
    other = next(t for t in source.get_vocab() if t.startswith("▁") and t not in tokens)
    last = int(np.argmin(near))
    swapped = [other if i == last else t for i, t in enumerate(tokens)]
    assert (
        with_sources(same | {first: (swapped, near)})["equally near"] == 1
        and with_sources(same | {first: (swapped, [n - 0.01 for n in near][:-1] + [0.1])})["other neighbours"] == 1
    )


def test_the_operations_counted_are_those_of_the_formula():
    model, tokenizer = random_model(300, **_TINY), toy_tokenizer("unigram", (f"w{i}" for i in range(295)))
    data = MaskedBlocks(torch.randint(5, 295, (4, 16), generator=torch.Generator().manual_seed(0)), 4, tokenizer)
    n, targets = 4 * 16, sum(int((row["labels"] != -100).sum()) for row in data)
    head = 32 * 32 + 32 * 300  # dense layer, vocabulary
    few, all_positions = (count_flops(side, model, data) for side in ("vocab_lit", "plain"))
    assert all_positions - few == 6 * head * (n - targets)  # 2 forward, 4 backward for each weight and position
    assert few - 6 * head * targets >= 6 * n * 2 * (4 * 32 * 32 + 2 * 32 * 48)  # the encoder's weights, and its attention


def test_the_clock_leaves_the_warm_up_out():
    clock = bench._clock(2)
    for step in range(1, 6):
        clock.on_step_end(None, SimpleNamespace(global_step=step, max_steps=5), None)
        time.sleep(0.02)
    (start, _), *_, (end, _) = clock.times
    assert len(clock.times) == 4 and 0.055 < end - start < 1


def test_the_text_has_the_size_asked_for_and_no_line_twice():
    with tempfile.TemporaryDirectory() as folder:
        write_text(Path(folder, "text.txt"), 0.5)
        written = Path(folder, "text.txt").read_text(encoding="utf-8").splitlines()
        assert abs(Path(folder, "text.txt").stat().st_size - 500_000) < 5000 and len(set(written)) == len(written) > 1000


def test_made_text_has_the_size_asked_for_and_its_different_words_grow_more_slowly_than_it():
    with tempfile.TemporaryDirectory() as folder:
        different = []
        for mb in (0.1, 0.4):
            write_zipf_text(Path(folder, "text.txt"), mb)
            words = Path(folder, "text.txt").read_text(encoding="utf-8").split()
            assert 0 <= len(" ".join(words).encode()) - mb * 10**6 < 200_000
            different.append(len(set(words)))
    assert 1.3 < different[1] / different[0] < 3


def test_the_printed_updates_are_those_of_the_gram_matrix_in_50_steps_and_at_any_number_of_tokens():
    for n_tokens in (300, 5000):
        X, start = embedding_like(n_tokens, 48).astype(np.float64), np.random.default_rng(1).random((10, 48)) + 1e-4
        expected = printed_steps(X, start, 50)
        assert abs(SemiNMF(10, "mu", start, max_iter=50).fit(X).components_ - expected).max() < 1e-6 * expected.max()


def test_no_operation_is_spent_below_the_first_module_that_learns_and_all_sides_train_the_same_weights(cell_13d75eeb, cell_7d2cd43f):
    assert in_task.below_gflop == pytest.approx(below, rel=1e-4) and in_task.gflop == pytest.approx(
        forward + to_inputs + to_weights, rel=1e-4
    )
    assert in_task.trained == 2 * (2 * 32 * 2 + 32 + 2) + 33 * 17
    language = tried["adapters"].table.query("size == 4")
    assert set(language.trained) == {2 * (2 * 32 * 16 + 48) + 2 * (2 * 16 * 8 + 24)} and set(language.below_gflop) == {0}
    gflop = language.set_index("side").gflop
    assert gflop["vocab_lit"] < 0.85 * gflop["all positions"]


def test_sides_that_do_the_same_come_to_the_same(cell_13d75eeb):
    assert (
        {*tried["lapt"].table.side} == {"vocab_lit", "plain", "no head"}
        and {*tried["focus"].table.side} == {"vocab_lit"}
        and trial["focus"]["checks"] == {}
    )
    loss = {side: tried["lapt"].values("loss", side)[0] for side in ("vocab_lit", "plain", "no head")}
    assert abs(loss["vocab_lit"] - loss["plain"]) < 1e-4 and abs(loss["plain"] - np.log(300)) < 0.3 and loss["no head"] < 2
    errors = {side: tried["nmf"].values("error", side)[0] for side in ("vocab_lit", "hals")}
    assert 0 < errors["hals"] < errors["vocab_lit"] < 1
    moved = tried["transplant"].table
    assert (
        list(moved.side) == ["vocab_lit", "loaded"]
        and moved.digest.nunique() == 1
        and set(moved.tokens_mb) == {float(f"{2 * 300 * 128 * 2 / 2**20:.5g}")}
    )
    for case, some in tried["load"].table.groupby("case"):
        assert len(some) == 2 and np.ptp(some.sums) <= 1e-3 * some.sums.max() and some.sums.min() > 0, case


def test_every_size_of_the_claims_is_measured_in_every_round_sides_in_turns():
    for part in PARTS.values():
        assert (
            set(part.main) <= set(part.sizes) and (len(part.sizes) == 4 or part.gpu) and list(part.sides)[0] == "vocab_lit"
        )


    def here(part, n, rounds=2, missing=(), **more):
        return turns(PARTS[part], Case("c", {}, n, **more), rounds, PARTS[part].sizes, missing)


    assert (
        here("focus", 20_000) == [(0, "vocab_lit"), (0, "deepfocus"), (1, "vocab_lit"), (1, "deepfocus")]
        and here("focus", 2500) == here("focus", 20_000)[:2]
    )
    assert here("focus", 20_000, missing=("deepfocus",)) == [(0, "vocab_lit"), (1, "vocab_lit")] and here(
        "adapters", None, 3, sides=("vocab_lit",)
    ) == [(n, "vocab_lit") for n in range(3)]
    assert here("focus", None, 3, once=True) == here("focus", 2500) and turns(
        PARTS["transplant"], Case("c", {}, 512), 2, (512,)
    )[-1] == (1, "loaded")


def test_tables_have_medians_and_spreads_and_claims_hold_or_not_by_the_median(cell_13d75eeb):
    def run(side, n, cpu, mb):
        return dict(
            case="50,000 to 20,000 tokens",
            series="",
            size=20_000,
            side=side,
            round=n,
            cpu_seconds=cpu,
            seconds=cpu,
            extra_mb=mb,
            peak_mb=2 * mb,
        )


    record = dict(
        environment={},
        rounds=3,
        checks={
            "50,000 to 20,000 tokens": {
                "copied alike": 5005,
                "largest difference": 4e-6,
                "copied otherwise": 0,
                "which": "",
            }
        },
        runs=[
            run(side, n, cpu, mb)
            for n, both in enumerate(((1.0, 12.0), (2.0, 22.0), (1.0, 9.0)))
            for side, cpu, mb in zip(("vocab_lit", "deepfocus"), both, (100.0, 700.0))
        ],
    )
    table = side_table("focus", record)
    assert (
        table["times"].tolist() == ["", "11.00 (9.00 to 12.00)"]
        and table["CPU seconds"].tolist() == ["1", "12"]
        and table["extra MB"].tolist() == ["100", "700"]
        and table["times "].tolist()[1] == "7.00 (7.00 to 7.00)"
    )
    claims = claims_table({"focus": record}).query("part == 'focus'")
    assert (
        claims.holds.tolist() == ["yes", "no", "not measured", "yes", "yes"]
        and claims.wanted.tolist()[:3] == ["at least 10", "at least 8", "at most 1.2"]
        and claims.measured.tolist()[3] == "4e-06"
    )
    assert (
        set(claims_table({}).holds) == {"not measured"}
        and "5,005" in report({"focus": record})
        and len(claims_table(trial)) == len(CLAIMS)
    )
    assert growth_table("focus", trial["focus"]).columns.tolist() == [
        "side",
        "120",
        "240",
        "time grows with",
        "extra memory grows with",
    ]


def test_records_of_parts_stand_side_by_side_in_a_file_and_what_cannot_be_measured_is_refused():
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        file = Path(folder) / "new/bench.json"
        run_bench(["nmf"], file, small=True)
        before = json.loads(file.read_text(encoding="utf-8"))
        run_bench(["focus"], file, small=True, folder="nowhere")
        after = json.loads(file.read_text(encoding="utf-8"))
        assert (
            before["nmf"] == after["nmf"]
            and set(after) == {"nmf", "focus"}
            and after["focus"]["environment"]["cores"] == os.cpu_count()
            and "torch" in after["focus"]["environment"]["versions"]
        )
        with pytest.raises(ValueError, match="no part 'fokus'; choose from focus, wechsel"):
            run_bench(["fokus"], file)


@pytest.mark.slow
def test_a_part_runs_in_processes_of_its_own_beside_the_other_package_where_it_is_installed():
    folder = os.environ.get("VOCAB_LIT_PEERS", "_build/bench")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(
            PARTS,
            "focus",
            replace(
                PARTS["focus"],
                sizes=(120,),
                main=(),
                cases=lambda place, sizes, small: itertools.islice(focus_cases(place, sizes, True), 1),
            ),
        )
        record = run_part("focus", 2, folder=folder)
    assert [r["side"] for r in record["runs"]] == (
        ["vocab_lit", "deepfocus"] * 2 if peer_python("deepfocus", folder) else ["vocab_lit"] * 2
    ) and all(c["copied otherwise"] == 0 for c in record["checks"].values())
