"""What each chapter computes, as cells: the chapter measures them, and a plan adds up what they train."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from studies.data.availability import has_task
from studies.data.hub_sources import MODELS, MONOLINGUAL
from studies.data.presets import languages_by_kind
from studies.papers.adaptation import Adaptation
from studies.papers.costs import OnTask, OnText
from studies.papers.experiment import EXTENSION, FOCUS_VOCABULARIES, Target
from studies.papers.setups import scale_lapt, scale_models, scale_vocab_size
from studies.papers.store import Cell
from studies.papers.transfer import ALL_LAYERS, FMT, LANGUAGE_ONLY, MBERT, METHODS, UNKS, WIRINGS, Method
from vocab_lit.methods.registry import get_recipe
from vocab_lit.methods.reinit import reinit

Cells = dict[str, list[Cell]]  # by the part of a chapter that shows them
Make = Callable[..., Target]  # of a language and a seed, as `Targets`


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


def _tuned(tasks: Iterable[str], times: int, model: str = "") -> tuple[OnTask, ...]:
    return tuple(OnTask(task.partition(":")[0], model=model) for task in tasks) * times


def _followed(target, language, way, seed, tasks, task_seeds):
    return target(language, seed).follow(way, seed, tasks, task_seeds)


def focus_cells(
    target: Make,
    scale: str,
    language: str,
    ways: Mapping[str, Adaptation],
    tasks: Sequence[str],
    seeds: int,
    task_seeds: int,  # fine-tunings of each model
    steps: int = 0,
    vocab_size: int = 0,
) -> Cells:
    "FOCUS: the losses of each way, and its task scores."
    config, size = scale_lapt(scale, "focus", steps), vocab_size or scale_vocab_size(scale)
    sizes = {"new": dict(vocab=size), "extended": dict(added=round(EXTENSION * size))}

    def trained(vocabulary, mode="all"):
        words = f", {FOCUS_VOCABULARIES[vocabulary]} vocabulary" + ", two stages" * (mode == "two-stage")
        return OnText(words, replace(config, mode=mode), **sizes.get(vocabulary, {}))

    def curve(name, way, seed):
        # tasks after the first seed's training alone; what the paper does not train on the first task alone
        of_way = tasks if way.printed else tasks[:1]
        scored = () if seed else tuple(of_way)
        key = dict(what="curve", language=language, method=name, seed=seed, scale=scale, tasks=" ".join(scored))
        trains = (trained(way.vocabulary, way.mode),) if way.mode else ()
        measure = partial(_followed, target, language, way, seed, scored, task_seeds)
        return Cell(key, measure, trains + _tuned(scored, task_seeds))

    curves = [
        curve(name, way, seed)
        for seed in range(seeds)
        for name, way in ways.items()
        if not seed or way.vocabulary == "new"
    ]
    return {"curves": curves}


FEW_RULES = ("RANDOM", "SCRIPT+POSN+IDENT", "FOCUS+IDENT")  # for what at mini is not computed with all methods
_FEW_OF_OURS = ("RANDOM", "IDENT", "SCRIPT+POSN+IDENT")


def source_gaussian() -> dict[str, str]:  # by name
    "Our own rule: what no rule of the paper covers is sampled from the Gaussian of the source embeddings."
    methods = paper_methods("source")
    return {f"{name}, source Gaussian": recipe for name, recipe in methods.items() if recipe != "focus"}


def _structure_grid(scale, whole) -> list[tuple[str, str, str]]:  # name, recipe and mode of each model
    methods, ours, frozen = paper_methods(), source_gaussian(), paper_methods()
    if scale == "mini":
        ours = {name: recipe for name, recipe in ours.items() if name.split(",")[0] in _FEW_OF_OURS}
        frozen = methods if whole else FEW_RULES
    grid = [("full vocabulary", "", ""), ("full vocabulary", "", "full")]
    grid += [(name, recipe, "full") for name, recipe in (methods | ours).items()]
    return grid + [(name, methods[name], "emb") for name in frozen]


def _scored(target, setting, recipe, mode, languages, tasks, seeds):
    return target(setting).scores(recipe, mode, languages=languages, tasks=tasks, seeds=seeds)


def _along(target, language, recipe):
    return target(language).along(recipe)


def structure_cells(
    target: Make,
    scale: str,
    languages: Sequence[str],
    first: str,  # at mini, the language with all methods where embeddings alone learn
    groups: Sequence[str],  # of languages that share a model, each with plus signs
    syntax: Sequence[str],  # constructed languages
    tasks: Mapping[str, str],  # and the names of data sets
    seeds: int,  # fine-tunings
    steps: int = 0,
    vocab_size: int = 0,
    small: Make = not_measured,  # of constructed languages
    longer: Make = not_measured,  # with three times the steps
) -> Cells:
    "Embedding Structure: scores by method and mode, of single languages and of groups, and a longer training."
    paper, mini, methods = "embedding-structure", scale == "mini", paper_methods()
    config, size = scale_lapt(scale, paper, steps), vocab_size or scale_vocab_size(scale, paper)

    def trained(recipe, mode, times=1):
        words = f", {mode}" + ", source vocabulary" * (not recipe) + ", three times as long" * (times > 1)
        return OnText(words, replace(config, mode=mode, steps=times * config.steps), size * bool(recipe))

    def scores(setting, grid, made=target, tasks=tasks, targets=()):
        codes = targets or setting.split("+")
        tuned = [t for code in codes for t, name in tasks.items() if scale != "paper" or has_task(t, code, name)]
        for name, recipe, mode in grid:
            key = dict(what="scores", setting=setting, method=name, recipe=recipe, mode=mode, seeds=seeds, scale=scale)
            measure = partial(_scored, made, setting, recipe, mode, targets, list(tasks), seeds)
            yield Cell(key, measure, ((trained(recipe, mode),) if mode else ()) + _tuned(tuned, seeds))

    grids = {code: _structure_grid(scale, code == first) for code in (*languages, first)}
    cells = {"languages": [cell for code in languages for cell in scores(code, grids[code])]}
    several = grids[first][1:]  # all but off-the-shelf
    if mini:
        wanted = [*FEW_RULES, "SCRIPT+POSN+IDENT, source Gaussian"]
        several = [model for model in several if model[2] == "full" and model[0] in wanted]
        source = [grids[first][1]]
        of_syntax = [cell for code in syntax for cell in scores(code, source + several, small, {"pos": ""})]
        key, two = dict(setting=first, scale=scale), ("RANDOM", "SCRIPT+POSN+IDENT")
        cells["syntax"] = of_syntax
        cells["longer"] = [
            Cell(
                key | dict(what="longer", method=name),
                partial(_along, longer, first, methods[name]),
                (trained("any", "full", 3),),
            )
            for name in two
        ]
    of_groups = {group: group.split("+")[-2:] if mini else group.split("+") for group in groups}
    cells["groups"] = [cell for group, codes in of_groups.items() for cell in scores(group, several, targets=codes)]
    return cells


WECHSEL_STARTS = {
    "WECHSEL": dict(method="wechsel"),
    "TransInner": dict(method="normal", mode="transinner"),
    "FullRand": dict(method="full-rand"),
}
THREE_STARTS = tuple(WECHSEL_STARTS)


def scored_steps(
    steps: int,  # of a training
) -> tuple[int, ...]:
    "When WECHSEL fine-tunes RoBERTa: before its training, after a tenth of it, and at its end."
    return 0, max(1, steps // 10), steps


def _course(target, language, start, seeds, scoring):
    rows = target(language).along(seeds=seeds, **scoring, **WECHSEL_STARTS[start])
    losses = [row["value"] for row in rows if row["metric"] == "loss"]
    return [*rows, dict(metric="best loss", value=min(losses))]


def wechsel_training(
    scale: str,
    kind: str,  # gpt2, roberta or low (little text)
    steps: int = 0,  # of GPT-2 and RoBERTa with all text
    vocab_size: int = 0,
) -> OnText:
    "How WECHSEL's models are trained."
    size = vocab_size or scale_vocab_size(scale, "wechsel")
    config = scale_lapt(scale, "wechsel-roberta" if kind == "roberta" else "wechsel-gpt2", steps)
    if kind == "low":
        config = scale_lapt(scale, "wechsel-gpt2-low-resource", 3 * steps if scale == "mini" else steps)
    words = {
        "gpt2": " of GPT-2",
        "roberta": " of RoBERTa",
        "low": " of GPT-2, with little text, at most",
    }
    return OnText(words[kind], config, size, model="roberta" if kind == "roberta" else "gpt2")


def course_cells(
    target: Make,
    model: str,  # gpt2 or roberta
    languages: Iterable[str],
    starts: Iterable[str],  # of WECHSEL_STARTS
    scale: str,
    seeds: int,  # fine-tunings
    training: OnText,
    lines: int = 0,  # of text; 0: all
    what: str = "course",
    **scoring: Sequence,  # at (steps) and tasks, where tasks are scored
) -> list[Cell]:
    "Losses along the training, and task scores at some of its steps."
    key = dict(what=what, model=model, lines=lines, scale=scale) | (dict(seeds=seeds) if scoring else {})
    tuned = _tuned(scoring.get("tasks", ()), seeds * len(scoring.get("at", ())), model)
    return [
        Cell(
            key | dict(language=code, method=start),
            partial(_course, target, code, start, seeds, scoring),
            (training, *tuned),
        )
        for code in languages
        for start in starts
    ]


def wechsel_cells(
    made: Mapping[str, Make],  # gpt2, roberta or both
    scale: str,
    language: str,
    medium: Sequence[str],  # languages of the tables
    low: Sequence[str],  # those with little text
    tasks: Sequence[str],
    seeds: int,  # fine-tunings
    steps: int = 0,
    vocab_size: int = 0,
    low_resource: Make = not_measured,
    baseline: Callable = not_measured,  # of a language and a model
) -> Cells:
    "WECHSEL: courses of GPT-2 and RoBERTa, scores on the way, and models that they are compared with."
    mini, paper, cells = scale == "mini", scale == "paper", {}
    languages = list(dict.fromkeys([*medium, language]))
    trained = partial(wechsel_training, scale, steps=steps, vocab_size=vocab_size)
    courses = partial(course_cells, scale=scale, seeds=seeds)
    other_tasks = [t for t in tasks if t == "ner" or not mini]
    if "gpt2" in made:
        cells["gpt2"] = courses(made["gpt2"], "gpt2", languages, THREE_STARTS, training=trained("gpt2"))
        few = 600 if mini else 0  # frames; the paper's languages have 0.1 to 0.4 GiB
        cells["low"] = courses(low_resource, "gpt2", low, THREE_STARTS, training=trained("low"), lines=few)
    if "roberta" in made:
        training = trained("roberta")
        tasks, at = list(tasks), scored_steps(training.config.steps)
        roberta = partial(courses, made["roberta"], "roberta", training=training, at=at)
        cells["roberta"] = roberta(languages, THREE_STARTS, tasks=tasks)
        models = (
            [] if scale == "custom" else [(code, "XLM-R_Base", scale_models("focus")[not mini]) for code in languages]
        )
        if paper:
            models += [
                (code, MONOLINGUAL[code], MODELS[MONOLINGUAL[code]]) for code in languages if code in MONOLINGUAL
            ]
        key = dict(what="baseline", scale=scale, seeds=seeds)
        cells["baselines"] = [
            Cell(
                key | dict(language=code, method=name),
                partial(baseline, code, model),
                _tuned(other_tasks, seeds, "roberta"),
            )
            for code, name, model in models
        ]
    return cells


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
    "mf1-lex": "random initialisation, low-dimensional",
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
        trains = (texts["" if start else learns], *made, *_tuned(tasks[code], 1))
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
    return UNKS | LANGUAGE_ONLY | FMT | ALL_LAYERS | longer_embeddings(width)[1]


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
    names = UNKS | LANGUAGE_ONLY | FMT
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
