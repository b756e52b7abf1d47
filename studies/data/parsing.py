"""Who depends on whom: a tree over the words of a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from vocab_lit.tasks.settings import register
from vocab_lit.tasks.tagging import check_sentences, conllu_words, cuts, lay_out, word_subtokens
from vocab_lit.tasks.task import Row, Task, TaskConfig, WholeConfig, forward, make_row, paper_settings
from vocab_lit.text.settings import option, settings
from vocab_lit.tokens.tokenizer_file import ids_around

if TYPE_CHECKING:
    import torch
    from torch import nn
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from studies.data.parser import ParserOutput


@dataclass(frozen=True)
class Parsed:
    "A sentence with a head and a relation for each word."

    words: tuple[str, ...]
    heads: tuple[int, ...]  # as many as words; numbers of words from 1, or 0 for the root
    relations: tuple[str, ...]  # as many as words

    def __post_init__(self):
        if not len(self.words) == len(self.heads) == len(self.relations):
            numbers = f"{len(self.words)} words, {len(self.heads)} heads and {len(self.relations)} relations"
            raise ValueError(f"{numbers}: {_beginning_of(self)}")


def fault(
    heads: Sequence[int],  # of each word
) -> tuple[int, str] | None:  # number of a word, and what is wrong with its head
    "The first fault that keeps heads from being a tree with one root; None where they are one."
    for word, head in enumerate(heads, 1):
        if not 0 <= head <= len(heads):
            return word, f"has head {head} in a sentence of {len(heads)} words"
        if head == word:
            return word, "is its own head"
    roots = [word for word, head in enumerate(heads, 1) if head == 0]
    if len(roots) > 1:
        return roots[1], f"has head 0, and so has word {roots[0]}; a tree has one root"
    if heads and not roots:
        return 1, "begins a sentence in which no word has head 0"
    for word in range(1, len(heads) + 1):
        path = [word]
        while path[-1] and path[-1] not in path[:-1]:
            path.append(heads[path[-1] - 1])
        if last := path[-1]:  # met before, and not the root
            return last, f"is in a circle of heads: {' > '.join(map(str, path[path.index(last) :]))}"
    return None


def _lacks(cells) -> str | None:
    "The complaint about a word's line that lacks a head or a relation; else None."
    word, head, relation = cells[1], cells[6], cells[7]
    if not (head.isascii() and head.isdigit()):
        advice = "put the head's number there, or leave the sentence out"
        return f"{word!r} has head {head!r} where a number is due; {advice}"
    if relation.strip() in ("", "_"):
        return f"{word!r} has no relation to its head (deprel); give it one, or leave the sentence out"
    return None


def read_trees(
    path: str | Path,  # CoNLL-U; also .gz, .bz2, .xz
) -> list[Parsed]:  # the syntactic words: no multi-word tokens, no empty nodes
    "Read a treebank's trees; `ValueError` names the file, line and sentence that is broken."
    trees = []
    for words, place in conllu_words(path, _lacks):
        forms, heads, relations = (tuple(word[column] for word in words) for column in (1, 6, 7))
        tree = Parsed(forms, tuple(map(int, heads)), relations)
        if wrong := fault(tree.heads):
            number, what = wrong
            word, line = tree.words[number - 1], place.lines[number - 1]
            raise ValueError(f"{path}, line {line}: {word!r} {what} (sentence {place.name})")
        trees.append(tree)
    return check_sentences(path, trees)


def _beginning_of(tree: Parsed) -> str:
    return repr(" ".join(tree.words[:8]))


def universal(relation: str) -> str:
    "A relation without its language's own subtype."
    return relation.split(":")[0]


def attachment(
    gold: Sequence[Parsed],
    predicted: Sequence[Parsed],  # of the same words
) -> dict[str, float]:  # las and uas, 0 to 1
    "Labelled and unlabelled attachment score."
    uas = las = n = 0
    for tree, guess in zip(gold, predicted, strict=True):
        if tree.words != guess.words:
            raise ValueError(f"two trees of different words: {_beginning_of(tree)} and {_beginning_of(guess)}")
        right_head = [a == b for a, b in zip(tree.heads, guess.heads)]
        right_relation = [universal(a) == universal(b) for a, b in zip(tree.relations, guess.relations)]
        uas += sum(right_head)
        las += sum(a and b for a, b in zip(right_head, right_relation))
        n += len(tree.words)
    return {"las": las / n, "uas": uas / n}


class _Contraction(NamedTuple):
    "A cycle that became one node, under the number of its first."

    nodes: list[int]
    heads: np.ndarray  # of them, round the cycle
    entered: np.ndarray  # (n,) for each head from outside, the node of the cycle that it is best the head of
    left: np.ndarray  # (n,) for each node outside, its best head in the cycle


def _contract(
    grid: np.ndarray,  # (n, n) scores of each node with each head, changed in place
    heads: np.ndarray,  # (n,) the best of each node, likewise
    first: int,  # a node of the cycle
) -> _Contraction:
    nodes = [first]
    while (node := int(heads[nodes[-1]])) != first:
        nodes.append(node)
    entering = grid[nodes] - grid[nodes, heads[nodes], None]  # what changes where one of them has a head outside
    leaving = grid[:, nodes]
    step = _Contraction(nodes, heads[nodes], np.take(nodes, entering.argmax(0)), np.take(nodes, leaving.argmax(1)))
    grid[first], grid[:, first] = entering.max(0), leaving.max(1)
    grid[:, nodes[1:]] = grid[first, first] = -np.inf
    heads[np.isin(heads, nodes)] = first
    heads[first] = grid[first].argmax()
    return step


def _best_heads(
    grid: np.ndarray,  # (n, n) scores of each node with each head; node 0 is the root
) -> np.ndarray:  # (n,) heads
    "The heads with the highest sum of scores from which every node leads to the root."
    grid, steps = grid.copy(), []
    np.fill_diagonal(grid, -np.inf)
    heads = grid.argmax(1)
    came_by = np.zeros(len(grid), int)  # at which nodes the walk from which start came by first
    came_by[0] = -1
    for start in range(1, len(grid)):
        at = start
        while not came_by[at]:
            came_by[at] = start
            at = heads[at]
            while came_by[at] == start:
                steps.append(_contract(grid, heads, int(at)))
                at = heads[at]
    for nodes, inner, entered, left in reversed(steps):
        outer = heads[nodes[0]]
        heads = np.where(heads == nodes[0], left, heads)
        heads[nodes] = inner
        heads[entered[outer]] = outer
    return heads


def best_tree(
    scores: np.ndarray,  # (n, 1 + n) finite; of each word with each head, the root first
) -> tuple[int, ...]:  # heads
    "The tree with one root that has the highest sum of scores."
    n = len(scores)
    if n == 0:
        return ()
    grid = np.zeros((n + 1, n + 1))
    grid[1:] = scores
    grid[1:, 0] -= 1 + n * np.ptp(scores)
    return tuple(_best_heads(grid)[1:].tolist())


def stretches(
    sizes: Sequence[int],  # subtokens of each word of a sentence
    room: int,  # subtokens in a window at most
) -> Iterator[tuple[int, int, int, int]]:  # first word, first and last (exclusive) of the core, last word (exclusive)
    "Overlapping windows of a sentence; one where all fits."
    if sum(sizes) <= room:
        yield 0, 0, len(sizes), len(sizes)
        return
    for first, last in cuts(sizes, max(1, room // 2)):
        start, end, left = first, last, room - sum(sizes[first:last])
        side = left // 2
        while start and sizes[start - 1] <= side:
            start, side, left = start - 1, side - sizes[start - 1], left - sizes[start - 1]
        while end < len(sizes) and sizes[end] <= left:
            end, left = end + 1, left - sizes[end]
        yield start, first, last, end


@settings
class ParsingConfig(WholeConfig):
    "Hyper-parameters of fine-tuning a parser; the defaults are those of Pfeiffer et al. (2021, Section 4.3)."

    learning_rate: float = 2e-5
    batch_size: int = 16
    epochs: int = 10
    max_length: int = 256
    pooling: str = option("mean", 'a word\'s vector: "mean" over its subtokens, or "first"')


def _ids_around(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    "Special tokens before and after a text; there is at least one before."
    before, after = ids_around(tokenizer)
    candidates = (tokenizer.bos_token_id, tokenizer.cls_token_id, tokenizer.eos_token_id)
    before = before or [i for i in candidates if isinstance(i, int)][:1]
    if not before:
        needed = "for the beginning of a text, which a parser needs for the root"
        raise ValueError(f"the tokenizer has no token {needed}; give it a bos_token")
    return before, after


def _answers_in(window, tree, has_subtokens, number) -> tuple[list[int], list[int]]:
    "Heads and relations of the words of a window; -100 outside its core, and where the head is not in the window."
    start, first, last, end = window
    heads, relations = [-100] * (end - start), [-100] * (end - start)
    for w in range(first, last):
        head = tree.heads[w]
        if head and not start < head <= end:
            continue
        heads[w - start] = head and head - start
        if has_subtokens[w]:
            relations[w - start] = number.get(universal(tree.relations[w]), -100)
    return heads, relations


def parsing_rows(
    tokenizer: PreTrainedTokenizerBase,  # a fast one
    examples: Sequence[Parsed],
    labels: Sequence[str],  # relations by number
    length: int,  # tokens in a row at most
    config: ParsingConfig,
) -> list[Row]:  # place: (first word, first of the core, last of the core)
    "Sentences as rows, or as windows where they are too long."
    before, after = _ids_around(tokenizer)
    n_special = len(before) + len(after)
    room, rows = length - n_special, []
    if room < 1:
        raise ValueError(f"{length} tokens leave no room for text beside {n_special} special tokens; allow longer rows")
    number = {label: i for i, label in enumerate(labels)}
    for i, (tree, words) in enumerate(zip(examples, word_subtokens(tokenizer, [e.words for e in examples]))):
        if sum(map(len, words)) > room:
            words = [subtokens[: max(1, room // 4)] for subtokens in words]
        for window in stretches([len(subtokens) for subtokens in words], room):
            start, first, last, end = window
            ids, counted = lay_out(before, words[start:end], after, config.pooling)
            heads, relations = _answers_in(window, tree, words, number)
            inputs = {"input_ids": ids, "words": counted, "labels": relations, "heads": heads}
            rows.append(make_row(i, inputs, (start, first, last)))
    return rows


FAR = -1e6  # score of a head that is in no window with the word


def _core(row: Row) -> slice:
    "The words of a window that it answers for, counted in the window."
    start, first, last = row.place
    return slice(first - start, last - start)


def _sentence_scores(
    n: int,  # words
    answers: Sequence[tuple[Row, tuple[np.ndarray, np.ndarray]]],  # rows of the sentence, and the answers in them
) -> tuple[np.ndarray, np.ndarray]:  # (n, n + 1) scores of heads, and numbers of the best relation to each
    "The scores of a sentence from those of its windows; heads that no window shows are far, the nearest first."
    arcs = FAR - np.abs(np.arange(n + 1) - np.arange(1, n + 1)[:, None])
    best = np.zeros((n, n + 1), int)
    for row, (window_arcs, window_best) in answers:
        start, first, last = row.place
        heads = [0, *range(start + 1, start + 1 + len(row.inputs["heads"]))]
        arcs[first:last, heads] = window_arcs
        best[first:last, heads] = window_best
    return arcs, best


class Parsing(Task):
    "A tree for each sentence, counted by LAS, which decides, and UAS."

    name, about = "dp", "dependency parsing"
    file_format, measure = "CoNLL-U files", "labelled and unlabelled attachment"
    example_files = "train.conllu, dev.conllu, test.conllu"
    unit, asks, marks = "sentences", "words", "relations"
    config = ParsingConfig()
    papers = {"unks-everywhere": paper_settings(config, adapters=5e-4)}
    fill = {"labels": -100, "words": -1, "heads": -1}

    def head_models(self) -> Mapping:
        from studies.data.parser import PARSERS

        return PARSERS

    def read(self, path: str | Path) -> list[Parsed]:
        return read_trees(path)

    def asked(self, example: Parsed) -> tuple[str, ...]:
        return tuple(map(universal, example.relations))

    def text(self, example: Parsed) -> tuple[str, ...]:
        return example.words

    def rows(self, *arguments: Any) -> list[Row]:  # as of `parsing_rows`
        return parsing_rows(*arguments)

    def scores(self, model: nn.Module, batch: Mapping[str, torch.Tensor], config: ParsingConfig) -> ParserOutput:
        heads = batch["heads"] if model.training else None
        return forward(model, batch, words=batch["words"], exists=batch["heads"] != -1, heads=heads)

    def losses(self, scores: ParserOutput, batch: Mapping[str, torch.Tensor], config: ParsingConfig) -> torch.Tensor:
        "Cross-entropy of the heads, and of the relations at the right heads, in nats."
        from torch.nn import functional as F

        heads = batch["heads"].where(batch["heads"] >= 0, -100)
        of_heads = F.cross_entropy(scores.arcs.flatten(0, 1), heads.flatten(), reduction="none")
        assert scores.relations is not None  # heads are given in training
        of_relations = F.cross_entropy(scores.relations.flatten(0, 1), batch["labels"].flatten(), reduction="none")
        return of_heads + of_relations

    def best(
        self, scores: ParserOutput, rows: Sequence[Row], config: ParsingConfig
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        "Of the words of each core: scores of heads, and the number of the best relation to each."
        assert scores.best is not None  # no heads are given
        answers, arcs, best = [], scores.arcs.float().cpu().numpy(), scores.best.cpu().numpy().astype(np.int16)
        for i, row in enumerate(rows):
            part = i, _core(row), slice(1 + len(row.inputs["heads"]))
            answers.append((arcs[part], best[part]))
        return answers

    def join(
        self,
        examples: Sequence[Parsed],
        rows: Sequence[Row],
        answers: Sequence,
        model: PreTrainedModel,
        config: TaskConfig,
    ) -> list[Parsed]:
        "The best tree of each sentence."
        by_example = [[] for _ in examples]
        for row, answer in zip(rows, answers):
            by_example[row.example].append((row, answer))
        trees, labels = [], cast("dict[int, str]", model.config.id2label)
        for example, windows in zip(examples, by_example):
            scores, relations = _sentence_scores(len(example.words), windows)
            heads = best_tree(scores)
            names = [labels[int(relations[w, head])] for w, head in enumerate(heads)]
            trees.append(Parsed(example.words, heads, tuple(names)))
        return trees

    def lost(self, rows: Sequence[Row]) -> str:
        n = sum(int((row.inputs["heads"][_core(row)] == -100).sum()) for row in rows)
        if not n:
            return ""
        return f"; {n:,} of their words have their head in no window with them, which cannot be learnt or found"

    def metrics(self, examples: Sequence[Parsed], predictions: Sequence[Parsed]) -> dict[str, float]:
        return attachment(examples, predictions)


dp = register(Parsing())
