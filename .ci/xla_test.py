"""LAPT and a task on torch_xla's CPU device, beside the same on the processor.

The losses must agree, and nothing may be compiled after the first steps.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS, SETTLED = 12, 4  # steps of LAPT; those after which nothing may be compiled


def run() -> dict:  # what is compared
    import warnings

    warnings.simplefilter("ignore")
    from transformers import AutoModelForMaskedLM, TrainerCallback
    from transformers.trainer import DEFAULT_CALLBACKS

    from vocab_lit.models.device import compilations, find_device
    from vocab_lit.tasks.finetune import fine_tune
    from vocab_lit.tasks.settings import TaskConfig
    from vocab_lit.tasks.tagging import Tagged
    from vocab_lit.text.corpus import data_path
    from vocab_lit.text.phrasebook import lines, sentences
    from vocab_lit.tokens.tokenizer import load_tokenizer
    from vocab_lit.training.lapt import lapt
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

    model = fresh()
    config = LaptConfig(
        steps=STEPS, mode="full", learning_rate=1e-3, batch_size=16, micro_batch=8, length=64, eval_every=4
    )
    with tempfile.TemporaryDirectory() as work:
        losses = lapt(
            model, tokenizer, lines("sw", 1500, seed=0), lines("sw", 200, seed=0, held_out=True), config, folder=work
        )
        kept = sorted(p.name for p in Path(work).glob("checkpoint-*"))
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
        losses=losses.loss.tolist(),
        checkpoints=kept,
        task=told.history.loss.tolist(),
        test=told.test,
        counts=counts,
        total=compilations(),
    )


def check(cpu, xla) -> list[str]:  # what is wrong
    "Compare the two runs."
    (lapt_counts, task_counts), wrong = xla["counts"], []
    for name in ("losses", "task"):
        if (far := max(abs(a - b) for a, b in zip(cpu[name], xla[name], strict=True))) > 1e-3:
            wrong.append(f"the losses of {name} are {far:.4f} apart")
    if cpu["checkpoints"] != xla["checkpoints"] or not xla["checkpoints"]:
        wrong.append(f"checkpoints are {xla['checkpoints']} and should be {cpu['checkpoints']}")
    if abs(cpu["test"] - xla["test"]) > 0.01:
        wrong.append("the scores of the task differ")
    if lapt_counts[SETTLED - 1] != lapt_counts[-1]:
        wrong.append(f"LAPT compiles after step {SETTLED}: {lapt_counts}")
    if task_counts[len(task_counts) // 2] != task_counts[-1]:
        wrong.append(f"the task compiles after its first evaluation: {task_counts}")
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
            held_out = ", ".join(f"{loss:.4f}" for loss in found[name]["losses"])
            of_task = ", ".join(f"{loss:.4f}" for loss in found[name]["task"])
            print(f"{found[name]['device']}: held-out losses {held_out}; losses of the task {of_task}", end="; ")
            print(f"accuracy {found[name]['test']:.3f}", flush=True)
    print(
        *(
            f"programs compiled until each step of {name}: {' '.join(map(str, counts))}"
            for name, counts in zip(("LAPT", "the task"), found["xla"]["counts"])
        ),
        sep="\n",
    )
    if wrong := check(**found):
        sys.exit("\n".join(wrong))
