"""Trees: read, found and scored."""

import gzip
import itertools
import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from studies.data.parsing import Parsed, attachment, best_tree, fault, read_trees, stretches


def conllu(trees):
    lines = ([*zip(tree.words, tree.heads, tree.relations)] for tree in trees)
    cells = ([f"{i}\t{w}\t_\t_\t_\t_\t{h}\t{r}\t_\t_\n" for i, (w, h, r) in enumerate(t, 1)] for t in lines)
    return "\n".join("".join(tree) for tree in cells)


def test_heads_are_a_tree_if_and_only_if_every_word_leads_to_one_root():
    def leads_to_root(heads):  # by as many steps as there are words
        at = list(range(1, len(heads) + 1))
        for _ in heads:
            at = [heads[w - 1] if w else 0 for w in at]
        return not any(at) and heads.count(0) == 1

    for n in range(1, 6):
        every = list(itertools.product(range(n + 1), repeat=n))
        trees = [leads_to_root(heads) for heads in every]
        assert [fault(heads) is None for heads in every] == trees and sum(trees) == n ** (n - 1)  # Cayley's formula
    assert fault(()) is None and fault((2, 0, 4)) == (3, "has head 4 in a sentence of 3 words") and fault((-1,))[0] == 1


def test_trees_are_read_whatever_the_file_s_line_ends(treebank):
    GERMAN, german, folder, write = treebank.GERMAN, treebank.german, treebank.folder, treebank.write
    expected = [
        Parsed(
            ("Ana", "wohnt", "in", "dem", "Haus", "."),
            (2, 0, 5, 5, 2, 2),
            ("nsubj", "root", "case", "det", "obl:lok", "punct"),
        ),
        Parsed(
            ("Er", "Tee", ",", "sie", "Kaffee", "."),
            (0, 1, 4, 1, 4, 1),
            ("root", "orphan", "punct", "conj", "orphan", "punct"),
        ),
    ]
    assert german == expected == read_trees(write("crlf.conllu", GERMAN, "utf-8-sig", "\r\n"))
    (folder / "unfinished.conllu").write_text("\n\n" + "\n".join(GERMAN).rstrip(), encoding="utf-8")
    with gzip.open(folder / "de.conllu.gz", "wt", encoding="utf-8") as f:
        f.write("\n".join(GERMAN))
    assert read_trees(folder / "unfinished.conllu") == expected == read_trees(folder / "de.conllu.gz")
    with pytest.raises(ValueError, match="2 words, 1 heads and 2 relations: 'a b'"):
        Parsed(("a", "b"), (0,), ("root", "x"))


def test_a_broken_treebank_is_refused_with_file_line(treebank):
    GERMAN, row, folder, write = treebank.GERMAN, treebank.row, treebank.folder, treebank.write

    def broken(line, match, at=7, sentence="de-1", told=None):
        file = write("broken.conllu", [*GERMAN[:at], line, *GERMAN[at + 1 :]])
        with pytest.raises(ValueError, match=f"broken.conllu, line {told or at + 1}: {match}.* .sentence {sentence}.$"):
            read_trees(file)

    broken(row(5, "Haus", 0, "root"), "'Haus' has head 0, and so has word 2; a tree has one root")
    broken(row(2, "wohnt", 5, "root"), "'Ana' begins a sentence in which no word has head 0", at=3, told=3)
    broken(row(4, "sie", 5, "conj"), "'sie' is in a circle of heads: 4 > 5 > 4", at=15, sentence="2")
    broken(row(5, "Haus", 5, "obl"), "'Haus' is its own head")
    broken(row(6, ".", 7, "punct"), "'.' has head 7 in a sentence of 6 words", at=8)
    broken(row(5, "Haus", 2), "'Haus' has no relation to its head .deprel.; give it one")
    broken(row(5, "Haus", 2, ""), "'Haus' has no relation")
    for head in ("_", "", "x", "-1", "٢", "2.5"):
        broken(row(5, "Haus", head, "obl"), f"'Haus' has head '{head}' where a number is due")
    broken(row(5, "Haus", 2, "obl").replace("\t_", "", 1), "9 columns where CoNLL-U has 10; put one tab")
    broken(row(6, "Haus", 2, "obl"), "word 6 where word 5 was due")
    with pytest.raises(ValueError, match="empty.conllu has no sentences"):
        read_trees(write("empty.conllu", []))
    with pytest.raises(ValueError, match="text.conllu, line 1: 1 columns where CoNLL-U has 10"):
        read_trees(write("text.conllu", ["Ana wohnt im Haus."]))
    with pytest.raises(FileNotFoundError, match="nowhere.conllu: no such file"):
        read_trees(folder / "nowhere.conllu")


def test_scores_are_those_by_hand_and_of_an_independent_count(treebank, tmp_path):
    german = treebank.german
    relations = ("nsubj", "root", "case", "case", "obl", "punct")
    guess = [replace(german[0], heads=(2, 0, 4, 5, 2, 2), relations=relations), german[1]]
    assert attachment(german, guess) == {"las": 10 / 12, "uas": 11 / 12}
    assert list(attachment(german, german).items()) == [("las", 1), ("uas", 1)]

    def counted(gold, guess):  # from the lines of two files
        lines = zip(gold.read_text().split("\n"), guess.read_text().split("\n"), strict=True)
        pairs = [(a.split("\t"), b.split("\t")) for a, b in lines if a]
        assert all(a[1] == b[1] for a, b in pairs)
        same_head = [a[6] == b[6] for a, b in pairs]
        same_both = [a[6] == b[6] and a[7].partition(":")[0] == b[7].partition(":")[0] for a, b in pairs]
        return {"las": sum(same_both) / len(pairs), "uas": sum(same_head) / len(pairs)}

    rng = np.random.default_rng(0)
    names = ("nsubj", "nsubj:pass", "obj", "obl", "obl:tmod")

    def random_heads(n):
        return Parsed(tuple("abcdefg"[:n]), tuple(rng.integers(0, 3, n).tolist()), tuple(rng.choice(names, n).tolist()))

    for k in range(20):
        trees, files = [], []
        for i in range(2):
            trees.append([random_heads(n) for n in (3, 7, 1, 5, 7, 7)])
            files.append(tmp_path / f"count-{k}-{i}.conllu")
            files[i].write_text(conllu(trees[i]))
        assert attachment(*trees) == pytest.approx(counted(*files))
    with pytest.raises(ValueError, match="two trees of different words: 'Ana"):
        attachment(german, german[::-1])
    with pytest.raises(ValueError):
        attachment(german, german[:1])


def test_the_best_tree_is_that_of_a_search_over_all_trees():
    rng, tempted = np.random.default_rng(1), 0
    for n in range(1, 6):
        trees = np.array([h for h in itertools.product(range(n + 1), repeat=n) if fault(h) is None])
        for k in range(16):
            scores = rng.normal(size=(n, n + 1)) * 10.0 ** rng.integers(-3, 4)
            if k % 2:
                scores[:, 0] += 5 * np.abs(scores).max()
            tempted += (scores.argmax(1) == 0).sum() > 1
            sums = scores[np.arange(n), trees].sum(1)
            assert best_tree(scores) == tuple(trees[sums.argmax()])
    assert tempted > 20 and best_tree(np.zeros((0, 1))) == () and fault(best_tree(np.zeros((9, 10)))) is None
    large = rng.normal(size=(60, 61))
    large[:, 0] = 100
    assert fault(best_tree(large)) is None
    for n in (2, 9, 30):  # beside another program
        for scores in (rng.normal(size=(n, n + 1)), rng.integers(0, 3, (n, n + 1)).astype(float)):
            arcs = [
                (head, word, scores[word - 1, head])
                for word in range(1, n + 1)
                for head in range(n + 1)
                if head != word
            ]
            graph = nx.DiGraph()
            graph.add_weighted_edges_from((head, word, weight - 99 * (head == 0)) for head, word, weight in arcs)
            theirs = nx.maximum_spanning_arborescence(graph).edges
            total = sum(scores[word - 1, head] for head, word in theirs)
            assert math.isclose(scores[np.arange(n), best_tree(scores)].sum(), total)
    chain = np.tile(np.arange(400.0), (399, 1))  # the best head of each word is the last one: cycle in cycle
    assert fault(best_tree(chain)) is None


def test_cores_hold_every_word_once_windows_fit():
    rng = np.random.default_rng(0)
    for room in (1, 2, 3, 4, 8, 15, 40):
        for _ in range(60):
            sizes = np.minimum(rng.integers(0, 9, rng.integers(0, 40)), max(1, room // 4)).tolist()
            found = list(stretches(sizes, room))
            assert [i for _, first, last, _ in found for i in range(first, last)] == list(range(len(sizes)))
            assert (len(found) == 1) == (sum(sizes) <= room)
            for start, first, last, end in found:
                assert 0 <= start <= first <= last <= end <= len(sizes) and sum(sizes[start:end]) <= room
                if room >= 8:
                    assert (start < first or first == 0) and (end > last or last == len(sizes))
                    # no word more on both sides
                    assert sum(sizes[max(start - 1, 0) : end + 1]) > room or start == 0 or end == len(sizes)
