"""What each chapter computes, as cells: the chapter measures them, and a plan adds up what they train."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from studies.data.presets import languages_by_kind
from studies.papers.costs import OnTask, OnText
from studies.papers.setups import scale_lapt, scale_vocab_size
from studies.papers.store import Cell
from studies.papers.transfer import ALL_LAYERS, FMT, LANGUAGE_ONLY, MBERT, METHODS, PROJECTED, UNKS, WIRINGS, Method
from vocab_lit.methods.focus import omp
from vocab_lit.methods.registry import get_recipe
from vocab_lit.methods.reinit import reinit
from vocab_lit.methods.wechsel import wechsel

Cells = dict[str, list[Cell]]  # by the part of a chapter that shows them


def not_measured(*_: object) -> list[dict]:
    "In place of a measurement that a chapter has and a plan does not need."
    raise NotImplementedError("this cell was declared for a plan")


def paper_methods(
    fallback: str = "standard-normal",  # for tokens that no rule covers: "standard-normal" (the paper's) or "source"
) -> dict[str, str]:  # {name in the paper: name of the recipe}
    "The seven methods that Downey et al. (2023) compare, the weakest first."
    forms: dict[str, dict[str, Any]] = {
        "RANDOM": {},
        "IDENT": dict(ident=True),
        "SCRIPT": dict(by="script"),
        "SCRIPT+POSN": dict(by="script", position=True),
    }
    forms |= {f"{name}+IDENT": forms[name] | dict(ident=True) for name in ("SCRIPT", "SCRIPT+POSN")}
    return {name: reinit(fallback=fallback, **form).name for name, form in forms.items()} | {"FOCUS+IDENT": "focus"}


def fine_tunings(tasks: Iterable[str], times: int, model: str = "") -> tuple[OnTask, ...]:
    "Declare so many fine-tunings in each task."
    return tuple(OnTask(task.partition(":")[0], model=model) for task in tasks) * times


FEW_RULES = ("RANDOM", "SCRIPT+POSN+IDENT", "FOCUS+IDENT")  # for what at mini is not computed with all methods


def source_gaussian() -> dict[str, str]:  # by name
    "Our own rule: what no rule of the paper covers is sampled from the Gaussian of the source embeddings."
    methods = paper_methods("source")
    return {f"{name}, source Gaussian": recipe for name, recipe in methods.items() if recipe != "focus"}


WECHSEL_STARTS = {
    "WECHSEL": dict(method="wechsel"),
    "TransInner": dict(method="normal", mode="transinner"),
    "FullRand": dict(method="full-rand"),
    "WECHSEL, rows first": dict(method="wechsel", mode="transinner"),
    "TransInner, all at once": dict(method="normal"),
    "TransInner-ShuffleEmb": dict(method="random", mode="transinner"),
    "TransInner-ShuffleEmb, all at once": dict(method="random"),
    "n-grams of fastText": dict(method="wechsel", how="fasttext", subwords="ngrams"),
    "TFR of fastText": dict(method="wechsel", how="fasttext", subwords="tfr"),
    "WECHSEL, vectors of all text": dict(method="wechsel"),  # when the model has a part of it
}
THREE_STARTS = tuple(WECHSEL_STARTS)[:3]
OF_ALL_TEXT = "WECHSEL, vectors of all text"
FREEZING = tuple(WECHSEL_STARTS)[3:7]  # Figures 3 and 6
SUBWORDS = tuple(WECHSEL_STARTS)[7:9]  # Tables 9 and 10
LITTLE_TEXT: dict[str, int | str] = {"mini": 600, "paper": "little"}  # frames; the paper's have 0.1 to 0.4 GiB
AMOUNTS: dict[str, tuple[int | str, ...]] = {  # of text, in lines or by size: Table 11
    "mini": (250, 1000),
    "paper": ("16MiB", "64MiB", "256MiB", "1024MiB"),
}
NEIGHBOURS = {"FullRand": get_recipe("full-rand")} | {  # Table 8
    f"k = {k}, tau = {tau:g}": wechsel(k, tau) for k, tau in ((1, 1.0), (10, 0.1), (10, 1.0), (50, 0.1), (50, 1.0))
}
TABLE_LANGUAGES = {  # of the tables that do not have all languages
    "mini": dict(freezing="de", subwords="de sw", amounts="de fi ru sw tr zh", neighbours="de fi fr hu ru tr zh"),
    "paper": dict(freezing="de", amounts="fr", neighbours="de fr zh"),
}


def scored_steps(
    steps: int,  # of a training
) -> tuple[int, ...]:
    "When WECHSEL fine-tunes RoBERTa: before its training, after a tenth of it, and at its end."
    return 0, max(1, steps // 10), steps


COMPARED = {
    "random": "a random source token, also for overlapping tokens",
    "normal": "a sample from the Gaussian of the source embeddings, also for overlapping tokens",
    "identity": "a sample from the Gaussian of the source embeddings",
    "hewitt": "the mean of all source embeddings",
    "script-posn-ident": "a sample from source embeddings of the same script and position in the word",
    "mean": "the mean of its source subtokens",
    "focus": "a convex combination of similar overlapping tokens, by sparsemax",
    "clp": "a linear combination of all overlapping tokens, in proportion to their cosines",
    "omp": "a linear combination of the few overlapping tokens that approximate it best",
    "omp-tokensurgeon": "the same, of 64 tokens, with vectors that are not normalised",
    "wechsel": "a convex combination of semantically similar source tokens, also for overlapping tokens",
    "ofa": "a convex combination of semantically similar source tokens",
    "ofa-100": "the same, low-dimensional, with an up-projection that is trained",
    "ofa-100-frozen": "the same, with an up-projection that is frozen",
    "mf1-lex-projected": "random initialisation, projected to low-dimensional embeddings",
}
PURSUITS = {  # settings of matching pursuit
    "1 term": dict(k=1),
    "4 terms": dict(k=4),
    "16 terms": dict(k=16),
    "16 terms, lengths as they are": dict(k=16, unit=False),
    "64 terms, lengths as they are (tokensurgeon)": dict(k=64, share=1, unit=False),
}
DISTILLED = {"mean, distilled": False, "mean, distilled, LM": True}  # whether embeddings learn language modelling, too
SOURCE = {"old vocabulary": "all", "old vocabulary, adapter": "adapter"}  # the source vocabulary, and what is trained
# settings that are compared in the loss alone, without tasks
SETTINGS = ("omp-tokensurgeon", "clp, auxiliary model", "omp-tokensurgeon, auxiliary model", *DISTILLED)


def compared_starts(dictionary: bool) -> dict[str, tuple[str, str]]:  # recipe, and where token vectors come from
    "The initialisations that the chapter compares; WECHSEL and OFA with a dictionary alone."
    starts = {m: (m, "auto") for m in COMPARED if dictionary or get_recipe(m).needs != "aligned vectors"}
    starts |= {f"{m}, auxiliary model": (m, "auxiliary") for m in ("clp", "omp", "omp-tokensurgeon")}
    return starts | dict.fromkeys(DISTILLED, ("mean", "auto"))


def compared_ways(dictionary: bool) -> dict[str, tuple[str, str]]:  # start, and what is trained
    "What the chapter trains."
    left_out = ("random", "hewitt", "omp, auxiliary model")
    starts = {m: (m, "all") for m in compared_starts(dictionary) if m not in left_out}
    return {name: ("", learns) for name, learns in SOURCE.items()} | starts


def compare_cells(
    scale: str,
    beginnings: Sequence[str],  # languages whose losses at initialisation are compared
    trained: Sequence[str],  # languages that are trained on
    tasks: Mapping[str, Sequence[str]],  # of these, and of constructed languages
    seeds: int,
    dictionary: bool,
    steps: int = 0,
    vocab_size: int = 0,
    distils: Callable[[str, int], bool] = lambda language, seed: True,  # whether embeddings can be distilled
    start_loss: Callable = not_measured,  # of a language, a start and a seed
    auxiliary_loss: Callable = not_measured,  # of a language
    trained_on: Callable = not_measured,  # of a language, a way, tasks and a seed
    pursued: Callable = not_measured,  # of a language and a recipe
) -> Cells:
    "All methods compared: losses at initialisation, of the auxiliary model, and after training."
    starts, ways = compared_starts(dictionary), compared_ways(dictionary)
    size = vocab_size or (650 if scale == "mini" else scale_vocab_size(scale, "embedding-structure"))
    config = replace(scale_lapt(scale, "embedding-structure", steps), mode="full")
    adapters = scale_lapt(scale, "mad-x-adapter", config.steps)
    adapters = replace(adapters, batch_size=config.batch_size, length=config.length)
    texts = {
        "": OnText(", target vocabulary", config, size),
        "all": OnText(", source vocabulary", config),
        "adapter": OnText(", language adapter", adapters, learns="adapter"),
    }

    def auxiliary(code, seed):
        training = replace(config, mode="all")
        return OnText(", auxiliary model", training, size, model="half", once=f"auxiliary {code} {seed}")

    def applies(code, name, seed):
        if name in SOURCE:
            return True
        if name in DISTILLED and not distils(code, seed):
            return False
        return code in trained or (name not in SETTINGS and get_recipe(name).needs != "aligned vectors")

    def way(code, name, seed):
        start, learns = ways[name]
        made = (auxiliary(code, seed),) if start and starts[start][1] == "auxiliary" else ()
        key = dict(what="way", language=code, method=name, seed=seed, scale=scale)
        trains = (texts["" if start else learns], *made, *fine_tunings(tasks[code], 1))
        return Cell(key, partial(trained_on, code, name, tasks[code], seed), trains)

    in_seeds = [(code, name, seed) for seed in range(seeds) for code in tasks for name in ways]
    at_start = [(code, name, seed) for seed in range(seeds) for code in beginnings for name in starts]
    about = dict(what="start", scale=scale)
    return {
        "starts": [
            Cell(
                about | dict(language=code, method=name, seed=seed),
                partial(start_loss, code, name, seed),
                (auxiliary(code, seed),) if starts[name][1] == "auxiliary" else (),
            )
            for code, name, seed in at_start
            if name not in DISTILLED or distils(code, seed)
        ],
        "auxiliary": [
            Cell(
                dict(what="auxiliary", language=code, seed=0, scale=scale),
                partial(auxiliary_loss, code),
                (auxiliary(code, 0),),
            )
            for code in beginnings
        ],
        "ways": [way(code, name, seed) for code, name, seed in in_seeds if applies(code, name, seed)],
        "pursuit": [
            Cell(dict(what="pursuit", language=code, method=name, scale=scale), partial(pursued, code, omp(**settings)))
            for code in trained
            for name, settings in PURSUITS.items()
        ],
    }


TEXT_LIMITS = {  # lines of text, the last all of it: UNKs Everywhere, Figure 3
    "mini": (100, 789, 3947),
    "paper": (1_000, 10_000, 100_000, 1_000_000),
}
Tables = dict[str, dict]  # arguments of `transfer`, by the part of a chapter that shows them


def mad_x_tables(
    scale: str,
    languages: Sequence[str],
    methods: Sequence[str],
    seeds: int,
    question_source: str,
    questions: Sequence[str],  # languages; none: there are no questions
) -> Tables:
    "MAD-X: the pairs of all languages, the wirings, mBERT, and questions."
    once = [m for m in methods if scale == "paper" and METHODS[m].mlm == "target"]  # Section 5.2
    names = dict(task="ner", seeds=range(seeds))
    tables = {
        "names": dict(methods=[m for m in methods if m not in once], **names),
        "once": dict(methods=once, task="ner"),
        "wirings": dict(methods=list(WIRINGS), **names),
    }
    if questions:
        asked = dict(task="qa", sources=[question_source], targets=list(questions), seeds=range(min(seeds, 3)))
        tables["questions"] = dict(methods=["XLM-R", "MAD-X -INV", "MAD-X"], **asked)
    if scale != "custom" and "en" in languages:
        tables["mBERT"] = dict(methods=list(MBERT), sources=["en"], **names)
    return tables


MAD_X_STEPS = 250_000  # of an adapter, in the paper
EARLY_STEPS = 20_000  # after which its scores are strong, by the text of Section 7
FIGURE_6 = (0, 5_000, 10_000, EARLY_STEPS, 50_000, 100_000, MAD_X_STEPS)  # of these, the text names two


def share_of_steps(full: int, steps: int) -> int:
    "Return as large a share of `full` steps as `steps` are of the paper's."
    return round(full * steps / MAD_X_STEPS)


def mad_x_curves(language: str, languages: Sequence[str], seen: Sequence[str], full: int) -> dict:
    "Arguments of `transfer_by_steps`: languages that were not seen, with less and less training."
    others = [code for code in languages if code != language]
    targets = [code for code in others if code not in seen][:4] or others[:4]
    grid = sorted({share_of_steps(full, steps) for steps in FIGURE_6})
    return dict(source=language, targets=targets, grid=grid, task="ner", seeds=range(3))


def longer_embeddings(width: int) -> tuple[list[int], dict[str, Method]]:
    "Dimensions of low-dimensional embeddings in a model of a width: the paper's, and more; and the method with more."
    lengths = [round(width * n / 768) for n in (100, 300)]
    usual = UNKS["MF10-KMEANS-LEX"]
    return lengths, {"MF10-KMEANS-LEX, longer rows": replace(usual, text=replace(usual.text, components=lengths[1]))}


def unks_methods(width: int) -> dict[str, Method]:
    "All methods of UNKs Everywhere, for a model of a width."
    return UNKS | PROJECTED | LANGUAGE_ONLY | FMT | ALL_LAYERS | longer_embeddings(width)[1]


def correlated_kinds(scale: str, kinds: Mapping[str, str]) -> dict[str, str]:
    "The target languages, and at mini further ones, whose scores are compared with their share of unknown tokens."
    further = "seen: fa ru tr hi; covered script: uk ur mr sw; new script: si hy el" if scale == "mini" else ""
    return {**kinds, **languages_by_kind(further)}


def unks_tables(
    scale: str,
    task: str,
    sources: Sequence[str],
    kinds: Mapping[str, str],  # of the target languages
    exchanged: Sequence[str],  # further languages, for the comparison with full-model transfer
    tree_sources: Sequence[str],
    tree_targets: Sequence[str],
    seeds: int,
) -> Tables:
    "UNKs Everywhere: names, trees, adapters in all layers, embeddings swapped in the whole model, and dimensions."
    targets, named = list(kinds), dict(task=task, seeds=range(seeds))
    few = [next(code for code in targets if kinds[code] == kind) for kind in dict.fromkeys(kinds.values())]
    names = UNKS | PROJECTED | LANGUAGE_ONLY | FMT
    dimensions = ["MF10-KMEANS-LEX", "MF10-KMEANS-LEX, longer rows"]
    correlated = list(correlated_kinds(scale, kinds))
    tables = {
        "zero-shot": dict(methods=["mBERT"], task=task, sources=sources[:1], targets=correlated, seeds=range(3)),
        "names": dict(methods=list(names), sources=sources, targets=targets, **named),
        "all layers": dict(
            methods=list(ALL_LAYERS), sources=sources, targets=few[-1:] if scale == "mini" else targets, **named
        ),
        "dimensions": dict(methods=dimensions, sources=sources[:1], targets=few, **named),
    }
    if exchanged:
        compared = ["mBERT", "EL-RAND", "EL-LEX", *FMT]
        tables["exchanged"] = dict(methods=compared, sources=sources[:1], targets=list(exchanged), **named)
    if tree_targets:
        in_trees = [m for m in UNKS if m != "MAD-X"]  # those of Table 9
        trees = dict(sources=list(tree_sources), targets=list(tree_targets), seeds=range(seeds))
        tables["trees"] = dict(methods=in_trees, task="dp", **trees)
    return tables
