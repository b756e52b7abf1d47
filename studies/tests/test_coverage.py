import itertools

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from studies.data.coverage import KINDS, coverage, overlap_kinds, unknown_tokens
from testkit.phrasebook import lines
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.train import train_tokenizer
from vocab_lit.tokens.vocab import Vocab


def wordpiece(*pieces):  # a tokenizer as BERT has it
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    vocab = {piece: i for i, piece in enumerate((*special.values(), *pieces))}
    tok = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tok.normalizer, tok.pre_tokenizer = normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer()
    return PreTrainedTokenizerFast(tokenizer_object=tok, **special)


SMALL = wordpiece("a", "b", "##b", "中", ",")
ASKED = Vocab.from_tokenizer(
    wordpiece("ab", "bb", "ba", "##b", "##bb", "##a", "##ba", "##ab", "b,a", "##b,a", "##,", "##中中", "中a")
)
XLMR = load_tokenizer(data_path("models", "mini-xlmr"))
BYTES_ONLY = train_tokenizer(lines("sw", 300, seed=1), "bpe", 400)
TARGETS = {code: train_tokenizer(lines(code, 1000, seed=0), "wordpiece", 600) for code in ("am", "sw")}
AMHARIC = Vocab.from_tokenizer(TARGETS["am"])
KNOWN = [t.piece for t, u in zip(AMHARIC, unknown_tokens(XLMR, AMHARIC)) if t.kind == "text" and not u]


def test_pieces_inside_words_are_composed_of_pieces_inside_words():
    assert {t.piece for t, u in zip(ASKED, unknown_tokens(SMALL, ASKED)) if u} == {"ba", "##a", "##ba", "##ab"}
    assert unknown_tokens(SMALL, Vocab.from_tokenizer(wordpiece("c", "中中c", "a,##b")))[5:].tolist() == [
        True,
        True,
        True,
    ]
    grown = wordpiece("q", "##b", "qa", "##", "a")  # a letter of the vocabulary would have grown together with the a
    assert unknown_tokens(grown, Vocab.from_tokenizer(wordpiece("qa", "##a", "##b")))[5:].tolist() == [
        False,
        True,
        False,
    ]
    assert unknown_tokens(wordpiece("𓀀a", "a"), Vocab.from_tokenizer(wordpiece("##a")))[5:].tolist() == [True]
    cut = wordpiece("a", "##a")
    cut(["aaaa"], truncation=True, max_length=3)  # leaves the limit in the tokenizer
    assert unknown_tokens(cut, Vocab.from_tokenizer(wordpiece("aaa,c", "##aaa")))[5:].tolist() == [True, False]
    assert len(SMALL) == 10  # the source tokenizer stays as it is


def test_composition_agrees_with_the_greedy_search_written_out():
    def greedy(text, pieces, inside):  # the longest piece first, as WordPiece has it
        if not text:
            return True
        for end in range(len(text), 0, -1):
            if "##" * inside + text[:end] in pieces:
                return greedy(text[end:], pieces, True)
        return False

    def possible(text, pieces, inside):  # any way at all
        return not text or any(
            "##" * inside + text[:end] in pieces and possible(text[end:], pieces, True)
            for end in range(1, len(text) + 1)
        )

    strings = ["".join(c) for n in (1, 2, 3) for c in itertools.product("abc", repeat=n)]
    new, rng, differ = (
        Vocab.from_tokenizer(wordpiece(*strings, *(f"##{s}" for s in strings))),
        np.random.default_rng(0),
        0,
    )
    for _ in range(40):
        pieces = {p for p in [*strings, *(f"##{s}" for s in strings)] if rng.random() < 0.15}
        unknown = unknown_tokens(wordpiece(*sorted(pieces)), new)
        tokens = [t for t in new if t.kind == "text"]
        assert [unknown[t.id] for t in tokens] == [not greedy(t.text, pieces, not t.word_start) for t in tokens]
        assert all(unknown[t.id] or possible(t.text, pieces, not t.word_start) for t in tokens)
        differ += sum(unknown[t.id] and possible(t.text, pieces, not t.word_start) for t in tokens)
    assert differ > 0 and not unknown[:5].any() and len(tokens) == 78


def test_unigram_knows_known_characters_and_bytes_everything():
    characters = set("".join(t.text for t in Vocab.from_tokenizer(XLMR) if t.kind == "text"))
    for code, tokenizer in TARGETS.items():
        vocab = Vocab.from_tokenizer(tokenizer)
        expected = [t.kind == "text" and not set(t.text) <= characters for t in vocab]
        assert unknown_tokens(XLMR, vocab).tolist() == expected, code
    assert len(KNOWN) == 50 and {"0", "##0"} <= set(KNOWN)
    assert not unknown_tokens(BYTES_ONLY, AMHARIC).any()
    in_bytes = Vocab.from_tokenizer(BYTES_ONLY)
    kinds = {t.kind for t, u in zip(in_bytes, unknown_tokens(wordpiece(), in_bytes)) if u}
    assert kinds == {"text"} and "byte" in {t.kind for t in in_bytes}
    # a target vocabulary of another family
    of_pieces = Vocab.from_tokenizer(train_tokenizer(lines("am", 300, seed=1), "unigram", 400))
    in_swahili = TARGETS["sw"].get_vocab()
    composed = [all(p in in_swahili for c in t.text for p in (c, f"##{c}")) for t in of_pieces if t.kind == "text"]
    unknown = unknown_tokens(TARGETS["sw"], of_pieces)
    assert 300 < unknown.sum() <= len(composed) - sum(composed)
    lost = [t for t, u in zip(of_pieces, unknown_tokens(TARGETS["am"], of_pieces)) if u]
    pieces = TARGETS["am"].get_vocab()
    assert 5 < len(lost) < 20 and not any(t.word_start or f"##{t.text}" in pieces for t in lost)
    assert all(t.text in pieces for t in lost)  # as words they would be known


def test_coverage_counts_what_the_two_vocabularies_have():
    row = coverage(SMALL, wordpiece("a", "##a", "b", "##b", "c", "##bb"))
    assert (row["tokens"], row["unknown"], row["overlapping"]) == (6, 2, 3)  # ##a and c; a, b and ##b
    assert (row["unknown share"], row["overlapping share"]) == (2 / 6, 3 / 6) and len(row) == 5
    for tokenizer in (*TARGETS.values(), XLMR, BYTES_ONLY):
        itself = coverage(tokenizer, tokenizer)
        assert (itself["unknown"], itself["overlapping"]) == (0, itself["tokens"])
    assert itself["tokens"] == len(BYTES_ONLY) - 5 - sum(t.kind == "byte" for t in Vocab.from_tokenizer(BYTES_ONLY))
    assert coverage(SMALL, wordpiece()) == dict.fromkeys(row, 0)
    assert coverage(wordpiece("1", "A"), wordpiece("##1", "a"))["overlapping"] == 0  # as strings
    assert (
        coverage(BYTES_ONLY, wordpiece("1", "##1", ",", "A", "##a", "zz"))["overlapping"] == 5
    )  # A only inside words: Ġ
    plain = {code: set(t.get_vocab()) for code, t in TARGETS.items()}
    in_both = len(plain["am"] & plain["sw"]) - 5  # strings, in one family
    assert coverage(TARGETS["sw"], TARGETS["am"])["overlapping"] == in_both


def test_kinds_as_the_paper_defines_them_numbers_first():
    def only(*pieces):  # the one kind that the pieces are of
        shares = overlap_kinds(*[Vocab.from_tokenizer(wordpiece(*pieces))] * 2)
        return shares.idxmax() if shares.max() == 1 else None

    assert only("1", "##1", "a1", "##x2y", "½", "៥", "中3", "1a", "Ⅳ") == "Numbers"
    assert only("a", "##a", "é", "ß", "ŋ") == "Lat Char" and only("ab", "##ab", "aя", "中a", "a-") == "Lat (S)W"
    assert only("я", "##я", "中", "一", ".", "ሀ", "₣") == "Oth Char"
    assert only("яя", "##яя", "中国", "...", "ខ្មែរ") == "Oth (S)W"
    mixed = Vocab.from_tokenizer(wordpiece("1a", "a", "b", "##b", "ab", "я", "яя", "ю", "ы", "э"))
    assert overlap_kinds(mixed, mixed).to_dict() == dict(zip(KINDS, (0.1, 0.3, 0.1, 0.4, 0.1)))
    assert overlap_kinds(mixed, Vocab.from_tokenizer(wordpiece("zz"))).tolist() == [0] * 5
    assert all(abs(overlap_kinds(Vocab.of(XLMR), Vocab.of(t)).sum() - 1) < 1e-12 for t in TARGETS.values())
