"""Train on torch_xla's CPU device and on the processor, and compare the losses: python .ci/xla_test.py

On XLA at most two programs may be compiled after the first step: one for steps that have moments, one for evaluations.
A second stage of training adds one, and a task one for each length of its batches.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

STEPS, EVALUATION, STOPS = 30, 10, 17  # steps of LAPT, between evaluations, and until the run that is interrupted
TOLERANCE = 1e-3  # of losses, in nats
COMPILED = {"a masked model": 3, "a tagger": 24}  # programs after the first step: two stages; batches of many lengths
METHODS = ("mf1-lex", "mf10-kmeans-lex")  # with one up-projection, and with a choice among several in each step


def run() -> dict:  # what is compared
    "Train in each way; return losses and the number of compiled programs after each step."
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, TrainerCallback
    from transformers.trainer import DEFAULT_CALLBACKS

    from testkit.phrasebook import lines, sentences
    from vocab_lit.models.device import find_device
    from vocab_lit.models.factored_embedding import factored
    from vocab_lit.models.madx import MadX
    from vocab_lit.models.trainable import only_new_rows
    from vocab_lit.models.transplant import transplant
    from vocab_lit.tasks.finetune import fine_tune
    from vocab_lit.tasks.tagging import Tagged
    from vocab_lit.tasks.task import TaskConfig
    from vocab_lit.text.corpus import data_path
    from vocab_lit.tokens.load import load_tokenizer
    from vocab_lit.tokens.train import train_tokenizer
    from vocab_lit.training.lapt import lapt
    from vocab_lit.training.settings import LaptConfig

    on_xla = find_device().kind == "xla"
    losses, compiled = {}, {}

    def compilations() -> int:
        if not on_xla:
            return 0
        from torch_xla.debug import metrics

        return metrics.counter_value("UncachedCompile") or 0

    class Count(TrainerCallback):
        counts: list = []

        def on_train_begin(self, *_, **__):
            self.counts.clear()

        def on_step_begin(self, *_, **__):
            self.counts.append(compilations())

        def on_train_end(self, *_, **__):
            self.counts.append(compilations())

    class Interrupt(TrainerCallback):
        def on_step_end(self, args, state, *_, **__):
            if state.global_step == STOPS:
                raise KeyboardInterrupt

    DEFAULT_CALLBACKS.append(Count)
    folder, causal_folder = data_path("models", "mini-xlmr"), data_path("models", "mini-gpt2")
    tokenizer, causal_tokenizer = load_tokenizer(folder), load_tokenizer(causal_folder)
    config = LaptConfig(
        steps=STEPS, mode="full", learning_rate=1e-3, batch_size=16, micro_batch=8, length=64, eval_every=EVALUATION
    )
    short = replace(config, steps=12, eval_every=4)
    text, held_out = lines("sw", 1500, seed=0), lines("sw", 200, seed=0, held_out=True)
    target = train_tokenizer(text, "unigram", 600)

    def masked():
        return AutoModelForMaskedLM.from_pretrained(folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)

    def record(name, history):
        losses[name], compiled[name] = history.loss.tolist(), [*Count.counts]

    record("a masked model", lapt(masked(), tokenizer, text, held_out, config))
    causal = AutoModelForCausalLM.from_pretrained(causal_folder, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    one_stage = replace(config, mode="all")
    record("a causal model", lapt(causal, causal_tokenizer, text, held_out, one_stage))
    with tempfile.TemporaryDirectory() as place:
        try:
            lapt(masked(), tokenizer, text, held_out, config, folder=place, callbacks=[Interrupt()])
        except KeyboardInterrupt:
            record("an interrupted run", lapt(masked(), tokenizer, text, held_out, config, folder=place, resume=True))
    for method in METHODS:
        made = transplant(masked(), tokenizer, target, method)
        with factored(made.model, made.layer) as model:
            record(f"low-dimensional embeddings, {method}", lapt(model, target, text, held_out, short))
    made = transplant(masked(), tokenizer, target, "fvt")
    with only_new_rows(made.model, made.plan.new_tokens) as model:
        new = replace(short, mode="all", embeddings="new")
        record("new embeddings alone", lapt(model, target, text, held_out, new))
    madx = MadX(masked())
    madx.add_language("sw")
    with madx.learning("sw"):
        record("a language adapter", lapt(madx.model, tokenizer, text, held_out, replace(short, mode="all")))
    words = [Tagged(tuple(s.words), tuple(s.labels)) for s in sentences("sw", 200, seed=0)]
    parts = words[:120], words[120:160], words[160:]
    task_config = TaskConfig(learning_rate=1e-3, batch_size=16, epochs=4, eval_every=2)
    record("a tagger", fine_tune(masked(), tokenizer, *parts, "pos", config=task_config).history)
    return dict(device=find_device().name, losses=losses, compiled=compiled)


def check(cpu: dict, xla: dict) -> list[str]:  # what is wrong
    "Compare the two runs."
    wrong = []
    for name, losses in cpu["losses"].items():
        difference = max(abs(a - b) for a, b in zip(losses, xla["losses"][name], strict=True))
        if difference > TOLERANCE:
            wrong.append(f"the losses of {name} differ by {difference:.4f}")
    if xla["losses"]["an interrupted run"] != xla["losses"]["a masked model"]:
        wrong.append("the losses of an interrupted run are not those of a whole one")
    for name, counts in xla["compiled"].items():
        if counts[-1] - counts[1] > COMPILED.get(name, 2):
            wrong.append(f"{name} compiles {counts[-1] - counts[1]} programs after its first step")
    if not xla["compiled"]["a masked model"][-1]:
        wrong.append("the second run is not on XLA")
    return wrong


if len(sys.argv) > 1:
    Path(sys.argv[1]).write_text(json.dumps(run()))
else:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, more in (("cpu", {"USE_TORCH_XLA": "0"}), ("xla", {"PJRT_DEVICE": "CPU"})):
            env = os.environ | more | {"VOCAB_LIT_PRECISION": "fp32"}
            subprocess.run([sys.executable, __file__, f"{folder}/{name}"], check=True, env=env)
            found[name] = json.loads(Path(folder, name).read_text())
            print(f"{found[name]['device']}: held-out losses")
            for what, losses in found[name]["losses"].items():
                print(f"  {what}: {', '.join(f'{loss:.4f}' for loss in losses)}", flush=True)
    print("programs that XLA compiled: before the first step, in it, afterwards")
    for what, counts in found["xla"]["compiled"].items():
        print(f"  {what}: {counts[0]}, {counts[1] - counts[0]}, {counts[-1] - counts[1]}")
    if wrong := check(**found):
        sys.exit("\n".join(wrong))
