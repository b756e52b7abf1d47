"""Every way of training on text, and a task, on torch_xla's CPU device, beside the same on the processor.

The losses must agree, and nothing may be compiled after the first steps.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

STEPS, EVALUATION = 12, 4  # steps of LAPT, and between evaluations; after the first one nothing may be compiled
METHODS = ("mf1-lex", "mf10-kmeans-lex")  # one up-projection, and a choice among several at each step


def compilations() -> int:
    "How many programs XLA has compiled in this process."
    from torch_xla.debug import metrics

    return metrics.counter_value("UncachedCompile") or 0


def run() -> dict:  # what is compared
    import warnings

    warnings.simplefilter("ignore")
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, TrainerCallback
    from transformers.trainer import DEFAULT_CALLBACKS

    from studies.phrasebook import lines, sentences
    from vocab_lit.models.device import find_device, on_device
    from vocab_lit.models.factored_embedding import factored
    from vocab_lit.models.madx import MadX
    from vocab_lit.models.trainable import only_new_rows
    from vocab_lit.models.transplant import transplant
    from vocab_lit.tasks.config import TaskConfig
    from vocab_lit.tasks.finetune import fine_tune
    from vocab_lit.tasks.tagging import Tagged
    from vocab_lit.text.corpus import data_path
    from vocab_lit.tokens.load import load_tokenizer
    from vocab_lit.tokens.train import train_tokenizer
    from vocab_lit.training.lapt import lapt
    from vocab_lit.training.lm_data import pack
    from vocab_lit.training.lm_loss import heldout_loss
    from vocab_lit.training.settings import LaptConfig

    counts = []

    class Count(TrainerCallback):
        def on_train_begin(self, *_, **__):
            counts.append([])

        def on_step_end(self, *_, **__):
            counts[-1].append(compilations())

    DEFAULT_CALLBACKS.append(Count)

    folder = data_path("models", "mini-xlmr")
    tokenizer = load_tokenizer(folder)

    def fresh():
        return AutoModelForMaskedLM.from_pretrained(folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)

    config = LaptConfig(
        steps=STEPS, mode="full", learning_rate=1e-3, batch_size=16, micro_batch=8, length=64, eval_every=EVALUATION
    )
    text, held_out = lines("sw", 1500, seed=0), lines("sw", 200, seed=0, held_out=True)
    with tempfile.TemporaryDirectory() as work:
        losses = {"LAPT": lapt(fresh(), tokenizer, text, held_out, config, folder=work)}
        kept = sorted(p.name for p in Path(work).glob("checkpoint-*"))
    target = train_tokenizer(text, "unigram", 600)
    for method in METHODS:
        made = transplant(fresh(), tokenizer, target, method)
        with factored(made.model, made.layer) as model:
            losses[f"LAPT of {method}"] = lapt(model, target, text, held_out, config)
    made = transplant(fresh(), tokenizer, target, "fvt")
    plain = replace(config, mode="all")
    on_device(made.model).tie_weights()  # moving a model makes new parameters, so that it is moved before
    with only_new_rows(made.model, made.plan.new_tokens) as model:
        losses["LAPT of new rows"] = lapt(model, target, text, held_out, replace(plain, embeddings="new"))
    madx = MadX(fresh())
    madx.add_language("sw")
    with madx.learning("sw"):
        losses["LAPT of an adapter"] = lapt(madx.model, tokenizer, text, held_out, plain)
    causal_folder = data_path("models", "mini-gpt2")
    causal = AutoModelForCausalLM.from_pretrained(causal_folder, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    losses["LAPT of a causal model"] = lapt(causal, load_tokenizer(causal_folder), text, held_out, config)
    measured, again = [], []
    for model, its in ((fresh(), tokenizer), (causal, load_tokenizer(causal_folder))):
        blocks = pack(its, held_out, 32)
        for n, part in enumerate(blocks[: len(blocks) // 8 * 8].split(8)):  # the same shape, other targets
            heldout_loss(model.to(find_device().torch), its, part, seed=n)
            measured.append(compilations())
        again.append(measured)
        measured = []
    words = [Tagged(tuple(s.words), tuple(s.labels)) for s in sentences("sw", 200, seed=0)]
    told = fine_tune(
        fresh(),
        tokenizer,
        words[:120],
        words[120:160],
        words[160:],
        "pos",
        config=TaskConfig(learning_rate=1e-3, batch_size=16, epochs=4, eval_every=2),
    )
    return dict(
        device=find_device().name,
        losses={name: of.loss.tolist() for name, of in losses.items()} | {"the task": told.history.loss.tolist()},
        checkpoints=kept,
        test=told.test,
        counts=dict(zip([*losses, "the task"], counts, strict=True)),
        measured=dict(zip(("a masked model", "a causal model"), again, strict=True)),
        total=compilations(),
    )


def check(cpu, xla) -> list[str]:  # what is wrong
    "Compare the two runs."
    wrong = []
    for name, losses in cpu["losses"].items():
        far = max(abs(a - b) for a, b in zip(losses, xla["losses"][name], strict=True))
        if far > 1e-3:
            wrong.append(f"the losses of {name} are {far:.4f} apart")
    if cpu["checkpoints"] != xla["checkpoints"] or not xla["checkpoints"]:
        wrong.append(f"checkpoints are {xla['checkpoints']} and should be {cpu['checkpoints']}")
    if abs(cpu["test"] - xla["test"]) > 0.01:
        wrong.append("the scores of the task differ")
    for name, counts in xla["counts"].items():
        settled = len(counts) // 2 if name == "the task" else EVALUATION
        if counts[settled] != counts[-1]:
            wrong.append(f"{name} compiles after step {settled + 1}: {counts}")
    for name, counts in xla["measured"].items():
        if len(counts) < 4 or counts[1] != counts[-1]:
            wrong.append(f"the held-out loss of {name} compiles after the second batch: {counts}")
    if not xla["total"] or cpu["total"]:
        wrong.append("the first run must be without XLA and the second with it")
    return wrong


if len(sys.argv) > 1:
    Path(sys.argv[1]).write_text(json.dumps(run()))
else:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, more in (("cpu", {"USE_TORCH_XLA": "0"}), ("xla", {"PJRT_DEVICE": "CPU"})):
            subprocess.run([sys.executable, __file__, f"{folder}/{name}"], check=True, env=os.environ | more)
            found[name] = json.loads(Path(folder, name).read_text())
            print(f"{found[name]['device']}: accuracy {found[name]['test']:.3f}; held-out losses")
            for what, losses in found[name]["losses"].items():
                print(f"  {what}: {', '.join(f'{loss:.4f}' for loss in losses)}", flush=True)
    for what, counts in found["xla"]["counts"].items():
        print(f"programs compiled until each step of {what}: {' '.join(map(str, counts))}")
    for what, counts in found["xla"]["measured"].items():
        print(f"programs compiled until each held-out loss of {what}: {' '.join(map(str, counts))}")
    if wrong := check(**found):
        sys.exit("\n".join(wrong))
