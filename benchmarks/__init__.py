"""Time, memory and coverage, beside the packages that people use today.

`python -m benchmarks` lists the parts, `python -m benchmarks focus --install` measures one, and
`python -m benchmarks.architectures FILE` gives a tiny model of every class of transformers another vocabulary;
`python -m benchmarks.tokenizer_classes FILE` opens and changes a small tokenizer of every tokenizer class.

A part is one file with a `PART`, whose name is in `parts.py`:

    def upper(meter: Meter, n: int) -> dict:
        "A text in capitals."
        text = "maji " * n
        with meter:
            length = len(text.upper())
        return dict(length=length)

    def upper_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
        "Texts of growing length."
        for n in sizes:
            yield Case(f"{n:,} words", dict(n=n), n)

    PART = Part("upper", "capitals", 1, "words", {"vocab_lit": upper}, upper_cases, sizes=(1, 2, 3, 4), tiny=(1,))

A peer is a function in `peers.py` that does the same work with another package, and an entry of `PEERS` with what pip
installs for it; the parts that it belongs to name it in `peers`. It runs in an environment of its own, so `peers.py`
and `process.py` import nothing of vocab_lit.
"""
