"""Tiny models with adapters made by the library `adapters`, and its outputs, as test data for `vocab_lit.models.madx`.

In an environment of its own, since `adapters` needs an older transformers:

    python3.11 -m venv peer && peer/bin/pip install adapters==1.3.0 transformers==4.57.6 torch==2.13.0 safetensors
    peer/bin/python data/golden/adapters/make.py

writes bert/, roberta/ and xlmr/ beside this file. All weights are random. In each:

base/     the model: a transformers checkpoint with an MLM head
lang/     language adapter with invertible adapter (`seq_bn_inv`, reduction 2) and the model's MLM head
task/     task adapter (`seq_bn`, reduction 4)
part/     as lang/ with GELU and none in the last layer (MAD-X 2.0), without the head
safe/     lang/ again, as safetensors and without the head
flex/     task adapters with the library's own heads (AutoAdapterModel): mlm, ner, qa, nli; mlm_lang has lang's weights
static/   task adapters with the heads of transformers' classes: ner, qa, nli (not for BERT: its pooler is in no file)
outputs.safetensors
    input_ids, attention_mask, and logits by what is active: none, lang, task, part, lang+task, part+task;
    flex.mlm_lang, flex.NAME and flex.lang+NAME, static.NAME and static.lang+NAME;
    for qa the start and end scores are the last axis
"""

import logging
import shutil
from pathlib import Path

import adapters
import torch
import transformers
from adapters import AutoAdapterModel, SeqBnConfig, SeqBnInvConfig, Stack
from safetensors.torch import save_file

PLACE, LAYERS, VOCABULARY = Path(__file__).parent, 2, 60
SHAPE = dict(
    vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=LAYERS, num_attention_heads=2, intermediate_size=24
)
FAMILIES = {
    "bert": (transformers.BertConfig, dict(max_position_embeddings=16)),  # family: configuration class, what is its own
    "roberta": (transformers.RobertaConfig, dict(max_position_embeddings=18, type_vocab_size=1)),
    "xlmr": (transformers.XLMRobertaConfig, dict(max_position_embeddings=18, type_vocab_size=1)),
}
LABELS = {"ner": ["O", "B-PER", "I-PER"], "nli": ["entailment", "neutral", "contradiction"]}
STATIC = {
    "ner": transformers.AutoModelForTokenClassification,
    "qa": transformers.AutoModelForQuestionAnswering,
    "nli": transformers.AutoModelForSequenceClassification,
}
LANG, TASK = (
    SeqBnInvConfig(reduction_factor=2),
    SeqBnConfig(reduction_factor=4),
)  # the library's own reduction is 16 for both
PART = SeqBnInvConfig(reduction_factor=2, non_linearity="gelu", leave_out=[LAYERS - 1])


def shake(model, only=""):  # random values large enough that every weight matters
    for name, p in model.named_parameters():
        if only in name:
            p.data = 0.3 * torch.randn_like(p) if only else p.data + 0.3 * torch.randn_like(p)


def nameless(model):  # no path of this machine in the files
    model.config._name_or_path = ""
    return model.eval()


def logits(model, batch, active):
    model.set_active_adapters(active)
    with torch.no_grad():
        out = model(**batch)
    return out.logits if hasattr(out, "logits") else torch.stack([out.start_logits, out.end_logits], dim=-1)


def make_static(place, batch):  # adapters in a model of transformers' own class, with its MLM head
    model = nameless(transformers.AutoModelForMaskedLM.from_pretrained(place / "base"))
    adapters.init(model)
    for name, config in (("lang", LANG), ("task", TASK), ("part", PART)):
        model.add_adapter(name, config=config)
        shake(model, f".{name}.")
        model.save_adapter(str(place / name), name, with_head=name == "lang")
    model.save_adapter(
        str(place / "safe"), "lang", use_safetensors=True, with_head=False
    )  # it fails with tied biases in the head
    active = {
        "none": None,
        "lang": "lang",
        "task": "task",
        "part": "part",
        "lang+task": Stack("lang", "task"),
        "part+task": Stack("part", "task"),
    }
    return {name: logits(model, batch, a) for name, a in active.items()}


def make_task(model, name, folder, lang, batch):  # a task adapter with its head
    folder.mkdir(exist_ok=True)
    model.add_adapter(name, config=TASK)
    shake(model, f".{name}.")
    model.save_adapter(str(folder / name), name)
    model.load_adapter(str(lang), with_head=False)
    return {name: logits(model, batch, name), f"lang+{name}": logits(model, batch, Stack("lang", name))}


def make_flex(place, batch):
    out = {}
    for name in ("mlm", "ner", "qa", "nli"):
        model = nameless(AutoAdapterModel.from_pretrained(place / "base"))
        for head in list(model.heads):
            model.delete_head(head)  # that of the checkpoint
        match name:
            case "mlm":
                model.add_masked_lm_head(name)
            case "ner":
                model.add_tagging_head(name, num_labels=3, id2label=dict(enumerate(LABELS[name])))
            case "qa":
                model.add_qa_head(name)
            case "nli":
                model.add_classification_head(name, num_labels=3, id2label=dict(enumerate(LABELS[name])))
        shake(model, "heads.")
        out |= make_task(model, name, place / "flex", place / "lang", batch)
        if (
            name == "mlm"
        ):  # the same head without the task adapter: the library runs the inverse at the output of this one
            model.active_head = name
            out["mlm_lang"] = logits(model, batch, "lang")
    return {f"flex.{k}": v for k, v in out.items()}


def make_heads(place, batch):
    out = {}
    for name, kind in STATIC.items():
        if place.name == "bert" and name == "nli":
            continue
        labels = dict(enumerate(LABELS[name])) if name in LABELS else {}
        given = dict(id2label=labels, label2id={v: k for k, v in labels.items()}) if labels else {}
        model = nameless(kind.from_pretrained(place / "base", **given))
        for head in ("classifier", "qa_outputs"):
            shake(model, head)
        adapters.init(model)
        out |= make_task(model, name, place / "static", place / "lang", batch)
    return {f"static.{k}": v for k, v in out.items()}


def make(family, seed):
    place, (config, own) = PLACE / family, FAMILIES[family]
    shutil.rmtree(place, ignore_errors=True)
    torch.manual_seed(seed)
    model = transformers.AutoModelForMaskedLM.from_config(config(**SHAPE, **own, pad_token_id=1))
    shake(model)
    model.save_pretrained(place / "base")
    batch = {"input_ids": torch.randint(3, VOCABULARY, (2, 9)), "attention_mask": torch.ones(2, 9, dtype=torch.long)}
    batch["input_ids"][1, 6:], batch["attention_mask"][1, 6:] = 1, 0
    out = batch | make_static(place, batch) | make_flex(place, batch) | make_heads(place, batch)
    save_file({k: v.contiguous() for k, v in out.items()}, place / "outputs.safetensors")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    logging.disable(logging.WARNING)
    for seed, family in enumerate(FAMILIES):
        make(family, seed)
