import json
import re
import shutil
import subprocess
from html import unescape

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from studies.chapters import try_it
from testkit.phrasebook import lines
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.load import load_tokenizer

STATIC = try_it.SCRIPT.parent
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LINES = (
    "Watu wote wamezaliwa huru; hadhi na haki zao ni sawa.",
    "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።",
    "ఒరిస్సా కటక్\u200cనుండి గజపతులు, 1,234 ﬁ!",
    "Õiged sõnad (ja valed) – „jutumärgid“ 漢字 x",
)


@pytest.fixture(scope="module")
def record():
    text = try_it.SCRIPT.read_text(encoding="utf-8").removeprefix(try_it.NOTICE)
    return json.loads(text.removeprefix("const TRY = ").rstrip().removesuffix(";"))


def unigram(vocabulary):
    "The same vocabulary in the tokenizers package."
    unknown = [("<unk>", 0.0)]
    pairs = unknown + list(zip(vocabulary["pieces"], vocabulary["scores"]))
    tokenizer = Tokenizer(models.Unigram(pairs, unk_id=0))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    spaces = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(spaces)
    return tokenizer


def wordpiece(vocabulary):
    ids = {piece: i for i, piece in enumerate(["[UNK]", *vocabulary["pieces"]])}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def bpe(vocabulary):
    pieces = vocabulary["pieces"]
    bytes_of = [f"<0x{i:02X}>" for i in range(256)]
    ids = {piece: i for i, piece in enumerate([*pieces, *bytes_of])}
    merges = [(p[:i], p[i:]) for p in pieces for i in range(1, len(p)) if p[:i] in ids and p[i:] in ids]
    tokenizer = Tokenizer(models.BPE(ids, merges, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    return tokenizer


BUILT = {"Unigram": unigram, "WordPiece": wordpiece, "BPE": bpe}


def told(token, pieces):
    "A token as the page has it: a byte by its number, an unknown one as nothing."
    byte = re.fullmatch("<0x(..)>", token)
    if byte:
        return byte[1].lower()
    return token if token in pieces else None


def in_browser(page, folder):
    "The page as it is when its scripts have run, loaded from a file."
    (folder / "page.html").write_text(page, encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}", "--dump-dom"]
    command = [BROWSER, *flags, (folder / "page.html").as_uri()]
    done = subprocess.run(command, capture_output=True, timeout=3600)
    if done.returncode < 0:
        pytest.skip("Chromium does not run here, as on a machine without fonts")
    return done.stdout.decode()


def of_page():
    "The box of the page, with its scripts' own addresses."
    text = (STATIC.parent / "try.md").read_text(encoding="utf-8")
    box = re.search(r"```\{raw\} html\n(<div class=\"try\">.*?)```", text, re.S)[1]
    return f'<meta charset="utf-8">{box}<p id="try-surplus"></p>'.replace("../_static", STATIC.as_uri())


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium")
def test_the_page_divides_as_the_tokenizers_package_does_and_shows_all_of_a_sentence(record, tmp_path):
    ask = f"""<p id="found"></p><script>addEventListener("DOMContentLoaded", () => {{
      const lines = {json.dumps(LINES)}, told = (token) => token.known ? token.text : null;
      const of = (vocabulary) => lines.map((line) => tokens(prepared(vocabulary), line).map(told));
      const all = [...Object.values(TRY.vocabularies), ...Object.values(TRY.own)].map(of);
      document.getElementById("found").textContent = JSON.stringify(all);
    }});</script>"""
    page = in_browser(of_page() + ask, tmp_path)
    found = json.loads(unescape(re.search('<p id="found">(.*?)</p>', page)[1]))
    vocabularies = [*record["vocabularies"].values(), *record["own"].values()]
    for vocabulary, rows in zip(vocabularies, found, strict=True):
        tokenizer, pieces = BUILT[vocabulary["kind"]](vocabulary), set(vocabulary["pieces"])
        expected = [
            [told(token, pieces) for token in encoded.tokens] for encoded in tokenizer.encode_batch(list(LINES))
        ]
        assert rows == expected, vocabulary["kind"]
    shown = re.findall(r'<p class="try-tokens" lang="sw">(.*?)</p>', page)
    sentence = record["sentences"]["sw"]
    assert len(shown) == len(record["vocabularies"]) + 1
    for line in shown:
        assert re.sub("<.*?>| |▁", "", line) == sentence.replace(" ", "")


def test_in_the_first_sentence_every_two_vocabularies_differ(record):
    first = re.search('language.value = "(..)"', (STATIC / "try.js").read_text(encoding="utf-8"))[1]
    vocabularies = [*record["vocabularies"].values(), record["own"][first]]
    sentence = record["sentences"][first]
    counts = [len(BUILT[vocabulary["kind"]](vocabulary).encode(sentence).tokens) for vocabulary in vocabularies]
    assert sentence == try_it.SHOWN[first] and len(set(counts)) == len(counts) == 4


def test_a_trimmed_vocabulary_divides_the_text_it_was_made_from_as_the_whole_one_and_says_how_others_fare():
    source = load_tokenizer(data_path("models", "mini-xlmr"))
    texts = {"sw": lines("sw", 200, seed=0), "en": lines("en", 200, seed=0)}
    made = try_it.made({"mini": source}, texts, most_own=300)
    mini = made["vocabularies"]["mini"]
    assert list(made["own"]) == ["sw"] and 0 <= mini["surplus"] < 0.1
    assert unigram(mini).encode(made["sentences"]["sw"]).tokens == source.tokenize(made["sentences"]["sw"])
    assert len(mini["pieces"]) < len(source)
