"""What the library promises, held on pretrained models that people use; `make real` downloads them."""

import copy
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

from studies.models.real import model_path, models_folder
from testkit.llama_cpp import Llama
from testkit.phrasebook import lines
from vocab_lit.gguf.container import GgufFile
from vocab_lit.gguf.tokens import tokens_of
from vocab_lit.methods.settings import TransplantSettings
from vocab_lit.models.export import export_gguf
from vocab_lit.models.gguf_weights import gguf_folder
from vocab_lit.models.pipeline import transplant_files, trim_files
from vocab_lit.models.settings import LoraSettings
from vocab_lit.models.trainable import LoraAdapter, save_lora
from vocab_lit.tokens.gguf_tokenizer import read_tokenizer
from vocab_lit.tokens.settings import TrimSettings
from vocab_lit.training.perplexity import perplexity

pytestmark = pytest.mark.real
CAUSAL = ("gemma3-270m", "smollm2-135m")
TEN = ("sw", "ka", "am", "ko", "ar", "hi", "th", "ru", "el", "zh")  # one language of each script
ALL = TrimSettings(coverage=1.0)
QUESTION = [dict(role="user", content="What is the capital of France? Answer in one sentence.")]
N_TOKENS = 12  # of greedy text
# Of 60 lines, in windows of 128 tokens.
BITS_PER_BYTE = {
    ("gemma3-270m", "en"): 1.794,
    ("gemma3-270m", "sw"): 2.454,
    ("smollm2-135m", "en"): 1.600,
    ("smollm2-135m", "sw"): 2.765,
}


def real(name):
    "The file or folder of a model."
    path = model_path(name, models_folder())
    if not path.exists():
        pytest.skip(f"no {path}: python -m studies.models.real")
    return path


def written(path, texts):
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


@cache
def in_transformers(name):
    "A causal model and its tokenizer, from the file, once."
    folder = gguf_folder(real(name))
    return AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


def greedy(model, tokenizer, prompt):
    "Text after a prompt, of transformers."
    given = tokenizer(prompt, return_tensors="pt")
    ids = model.generate(**given, max_new_tokens=N_TOKENS, do_sample=False)[0]
    return tokenizer.decode(ids, skip_special_tokens=True)


def log_probabilities(model, ids):
    "Of the next token, of transformers."
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0, -1].log_softmax(-1).numpy()


@pytest.fixture(scope="module", params=CAUSAL)
def trimmed(request, tmp_path_factory):
    "A GGUF file and the same trimmed to two languages and to what it says, both in llama.cpp."
    source, place = real(request.param), tmp_path_factory.mktemp(request.param)
    texts = [written(place / f"{code}.txt", lines(code, 100, seed=0)) for code in ("sw", "en")]
    prompts = [" ".join(line.split()[:5]) for code in ("sw", "en") for line in lines(code, 3, seed=0)]
    with Llama(source) as before:
        said = [prompt + before.greedy(prompt, N_TOKENS).text for prompt in prompts]
        if GgufFile(source).get("tokenizer.chat_template"):
            said += [before.chat(QUESTION).text]
        out = place / "trimmed.gguf"
        trim_files(source, [*texts, written(place / "said.txt", said)], out, ALL)
        places = {token: id for id, token in enumerate(tokens_of(GgufFile(out)))}
        moved = np.array([places.get(token, -1) for token in tokens_of(GgufFile(source))])
        with Llama(out) as after:
            yield SimpleNamespace(
                name=request.param,
                file=out,
                before=before,
                after=after,
                prompts=prompts,
                moved=moved,
                lines=[line for text in texts for line in text.read_text("utf-8").splitlines()],
            )


def test_a_trimmed_file_has_the_ids_in_llama_cpp_that_it_has_in_transformers_and_had_before(trimmed):
    ids = trimmed.after.ids(trimmed.lines)
    assert ids == read_tokenizer(GgufFile(trimmed.file))(trimmed.lines, add_special_tokens=False)["input_ids"]
    assert ids == [trimmed.moved[row].tolist() for row in trimmed.before.ids(trimmed.lines)]
    original = in_transformers(trimmed.name)[1](trimmed.lines, add_special_tokens=False)["input_ids"]
    assert ids == [trimmed.moved[row].tolist() for row in original]
    assert (trimmed.moved >= 0).mean() < 0.5


def test_a_trimmed_file_says_the_same_in_llama_cpp(trimmed):
    assert [trimmed.before.greedy(prompt, N_TOKENS).text for prompt in trimmed.prompts] == [
        trimmed.after.greedy(prompt, N_TOKENS).text for prompt in trimmed.prompts
    ]


def test_log_probabilities_of_tokens_that_stay_differ_by_one_number(trimmed):
    for prompt in trimmed.prompts[::3]:
        old = trimmed.before.log_probabilities(prompt, 3000)
        new = trimmed.after.log_probabilities(prompt, 3000)
        both = np.array([(old[id], new[at]) for id in old if (at := trimmed.moved[id]) in new])
        shifts = both[:, 1] - both[:, 0]
        assert len(both) > 200 and np.ptp(shifts) < 5e-3 and shifts.mean() >= 0


def test_a_chat_ends_at_the_end_token_before_and_after(trimmed):
    if trimmed.name == "gemma3-270m":
        pytest.skip("a base model without a template")
    answers = [model.chat(QUESTION) for model in (trimmed.before, trimmed.after)]
    assert "Paris" in answers[0].text and answers[0].text == answers[1].text
    assert [answer.finish_reason for answer in answers] == ["stop", "stop"]
    for model in (trimmed.before, trimmed.after):
        asked = model.ask("/apply-template", "render a conversation", messages=QUESTION)["prompt"]
        [ids], [end] = model.ids([asked], special=True), model.ids(["<|im_end|>"], special=True)
        assert model.greedy(ids, 64).ids[-1:] == end
        assert [
            GgufFile(model.path).get("tokenizer.ggml.eos_token_id")
        ] == end  # llama.cpp knows this one by its name too


@pytest.mark.parametrize("name", CAUSAL)
def test_an_extended_file_has_the_ids_in_llama_cpp_that_it_has_in_transformers(name, tmp_path):
    text = written(tmp_path / "ka.txt", lines("ka", 400, seed=0))
    settings = TransplantSettings.of(extend=300, expansion="continued", method="subtoken-mean")
    target = transplant_files(real(name), [text], tmp_path / "more.gguf", settings).tokenizer
    judged = [line for code in TEN for line in lines(code, 30, seed=3)]
    with Llama(tmp_path / "more.gguf") as model:
        ids = model.ids(judged)
    assert ids == target(judged, add_special_tokens=False)["input_ids"]
    assert ids == read_tokenizer(GgufFile(tmp_path / "more.gguf"))(judged, add_special_tokens=False)["input_ids"]
    first = len(tokens_of(GgufFile(real(name))))
    original = in_transformers(name)[1](judged, add_special_tokens=False)["input_ids"]
    grown = [max(row) >= first for row in ids]
    assert all(a == b for a, b, other in zip(ids, original, grown) if not other) and 30 <= sum(grown) < len(ids)


def test_a_trimmed_folder_computes_and_says_the_same(tmp_path):
    model, tokenizer = in_transformers("smollm2-135m")
    prompts = [" ".join(line.split()[:5]) for line in lines("en", 4, seed=0)]
    said = [greedy(model, tokenizer, prompt) for prompt in prompts]
    texts = [written(tmp_path / "en.txt", lines("en", 200, seed=0)), written(tmp_path / "said.txt", said)]
    trim_files(gguf_folder(real("smollm2-135m")), texts, tmp_path / "small", ALL)
    small, own = (kind.from_pretrained(tmp_path / "small") for kind in (AutoModelForCausalLM, AutoTokenizer))
    kept = tokenizer.convert_tokens_to_ids(own.convert_ids_to_tokens(range(len(own))))
    for line in lines("en", 20, seed=0):
        ids, new = tokenizer(line)["input_ids"], own(line)["input_ids"]
        assert [kept[id] for id in new] == ids and own.decode(new) == tokenizer.decode(ids)
    with torch.no_grad():
        before, after = model(torch.tensor([ids])).logits, small(torch.tensor([new])).logits
    assert torch.allclose(before[..., kept], after, rtol=1e-4, atol=1e-4)
    assert [greedy(small, own, prompt) for prompt in prompts] == said
    assert own.chat_template == tokenizer.chat_template
    ends = [
        tok.convert_ids_to_tokens(m.generation_config.eos_token_id) for m, tok in ((model, tokenizer), (small, own))
    ]
    assert ends == ["<|im_end|>", "<|im_end|>"]


def test_sentence_embeddings_of_a_trimmed_encoder_are_the_same(tmp_path):
    text = lines("en", 200, seed=0)
    trim_files(real("minilm-l6"), [written(tmp_path / "en.txt", text)], tmp_path / "small", ALL)

    def embeddings(folder):
        tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
        given = tokenizer(text[:40], return_tensors="pt", padding=True)
        with torch.no_grad():
            states, mask = model(**given).last_hidden_state, given["attention_mask"][..., None]
        return len(tokenizer), torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1))

    (n_before, before), (n_after, after) = map(embeddings, (real("minilm-l6"), tmp_path / "small"))
    assert n_after < n_before / 2 and torch.allclose(before, after, atol=1e-5)


def test_a_lora_is_the_same_beside_the_model_merged_and_in_llama_cpp(tmp_path):
    base, tokenizer = in_transformers("smollm2-135m")
    model = copy.deepcopy(base)
    lora = LoraAdapter(model, LoraSettings(r=4, dropout=0.0), "none")
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    batch = tokenizer("\n".join(lines("sw", 8, seed=0)), return_tensors="pt")["input_ids"]
    for _ in range(2):  # the first step changes the second matrices alone
        model(batch, labels=batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    ids = tokenizer("Habari ya asubuhi")["input_ids"]
    beside = log_probabilities(model, ids)
    save_lora(lora, tmp_path, "smollm2-135m")
    lora.merge()
    assert np.abs(log_probabilities(model, ids) - beside).max() < 1e-3
    untrained = log_probabilities(base, ids)
    file = real("smollm2-135m")
    export_gguf(tmp_path, file, tmp_path / "lora.gguf")
    with Llama(file, adapters=[tmp_path / "lora.gguf"]) as runs:
        theirs = runs.log_probabilities(ids, 20)
    off = np.mean([abs(value - beside[id]) for id, value in theirs.items()])
    assert off < 0.2 < np.mean([abs(value - untrained[id]) for id, value in theirs.items()])


@pytest.mark.parametrize("name, code", BITS_PER_BYTE)
def test_an_untouched_model_has_the_recorded_bits_per_byte(name, code):
    model, tokenizer = in_transformers(name)
    bits = perplexity(model, tokenizer, lines(code, 60, seed=5), length=128).bits_per_byte
    assert bits == pytest.approx(BITS_PER_BYTE[name, code], abs=0.01)
