"""Pages are made from notebooks, executed where their code, the library or the data has changed."""

import hashlib
import json
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from tools.appendix import appendix_of, divide
from tools.chapters import chapter_path, check_parameters
from tools.colab import editions
from tools.notebooks import checkout, defaults, parameters, read_notebook, settings, source, tags
from tools.pages import INJECTED, write_page
from tools.stamps import stamps

# progress bars and their warnings have no place on a page
QUIET = {
    "TQDM_DISABLE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "PYTHONWARNINGS": "ignore:IProgress not found",
    "TOKENIZERS_PARALLELISM": "false",
    "VOCAB_LIT_PRECISION": "fp32",  # no number of a page depends on what a processor is fastest in
}
ALL_ANEW = "VOCAB_LIT_MEASURE_ALL"  # environment variable of the book's build: yes or no


@dataclass(frozen=True)
class Page:
    "A notebook, what it is run with, and where its page goes."

    notebook: Path
    out: Path
    name: str  # what messages and the progress bar call it
    language: str = ""  # of a chapter; labels of the page end in it
    title: str = ""  # added to the notebook's
    parameters: dict[str, object] = field(default_factory=dict)  # values for the cell tagged `parameters`
    reads: tuple[Path, ...] = ()  # folders, beside library and data, whose files decide its numbers
    note: str = ""  # Markdown, behind the time under the title

    @property
    def root(self) -> Path:
        "The checkout that the notebook is in."
        return next(folder for folder in self.notebook.parents if (folder / "settings.ini").is_file())


def page_info(page: Path) -> dict:
    "How a page was made: key, seconds, at (when it was done), parameters; empty where there is no page."
    try:
        return read_notebook(page)["metadata"]["made"]
    except (FileNotFoundError, KeyError):
        return {}


def _read(page: Page) -> tuple[dict, dict[str, object]]:
    "Return the notebook, with a mark on what a page shows without running it, and the parameters that differ from its."
    nb = read_notebook(page.notebook)
    usual = defaults(nb)
    check_parameters(page.name, page.parameters, usual)
    for cell in nb["cells"]:
        # a page shows a test, `make test` runs it
        if re.match(r"(#\|.*\n)*#\| *(eval: *false|test:)", source(cell)):
            cell["metadata"].setdefault("tags", []).append("skip-execution")
    return nb, {name: page.parameters[name] for name in usual if page.parameters.get(name, usual[name]) != usual[name]}


def _key(page: Page, nb: dict, changed: dict[str, object]) -> str:
    "A hash of all that decides a page's numbers: code, library, data and versions."
    from vocab_lit.runs.grid import fingerprint

    root = page.root
    code = [source(cell) for cell in nb["cells"] if cell["cell_type"] == "code"]
    pins = [root / name for name in ("constraints.txt", "settings.ini")]
    pinned = [file.read_text(encoding="utf-8") for file in pins if file.exists()]
    folders = [root / settings(root)["lib_path"], root / "data", *page.reads]
    texts = [json.dumps([code, changed]), *pinned, os.environ.get(ALL_ANEW, "")]
    return fingerprint(*texts, folders=folders, compared=True)


def _unfinished(page: Page) -> Path:
    "The notebook of a run that failed, up to there."
    return page.root / "_build" / "failed" / f"{page.out.parent.name}-{page.out.name}"


def _run(page: Page, nb: dict, changed: dict[str, object], executed: Path, made: dict, bar: dict | None) -> None:
    "Execute a notebook into the file `executed`; `RuntimeError` names the cell that failed."
    from vocab_lit.text.errors import import_extra

    nbformat, papermill = (import_extra(module, "chapters") for module in ("nbformat", "papermill"))
    unfinished = _unfinished(page)
    for folder in (unfinished.parent, executed.parent):
        folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(QUIET)
    start = time.perf_counter()
    try:
        ran = papermill.execute_notebook(
            nbformat.from_dict(nb),
            str(unfinished),
            parameters=changed,
            kernel_name="python3",
            # the folder of the kernel; papermill's `cwd` changes that of this process, which other pages share
            resources={"metadata": {"path": str(page.notebook.parent)}},
            progress_bar=bar or False,
            request_save_on_cell_execute=False,  # which would write all outputs again for each cell
            extra_arguments=["--log-level=50"],
        )
    except papermill.PapermillExecutionError as e:
        line = e.source.strip().splitlines()[0]
        raise RuntimeError(
            f'{page.name}: the cell that begins "{line}" failed with {e.ename}: {e.evalue}'
            f"; the run up to there, with the traceback, is in {unfinished}"
        ) from None
    took = dict(seconds=round(time.perf_counter() - start), at=time.strftime("%Y-%m-%d %H:%M"))
    ran["metadata"]["made"] = made | took
    unfinished.write_text(nbformat.writes(nbformat.from_dict(ran)), encoding="utf-8")
    unfinished.replace(executed)


def _take_outputs(nb: dict, ran: dict) -> None:
    "Put the outputs of an executed notebook into one with the same code, and papermill's cell of parameters."
    injected = [cell for cell in ran["cells"] if INJECTED in tags(cell)]
    outputs = (cell["outputs"] for cell in ran["cells"] if cell["cell_type"] == "code" and cell not in injected)
    for cell in nb["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [output for output in next(outputs) if output["output_type"] != "error"]
    if injected:
        listed, _ = parameters(nb)
        nb["cells"].insert(nb["cells"].index(listed) + 1, injected[0])


def _write(nb: dict, out: Path) -> Path:
    "Write a notebook, whole or not at all."
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part")
    part.write_text(json.dumps(nb, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return part.replace(out)


def make(page: Page, bar: dict | None = None) -> Path:
    """Write a page where it is not up to date; `bar` are options of tqdm, and there is no bar without.

    A page of the book that cannot be made is written with a notice of what failed, which is raised too.
    """
    _unfinished(page).unlink(missing_ok=True)
    try:
        return _make(page, bar)
    except Exception as error:
        if page.root / "book" in page.out.parents:
            _make_failed(page, str(error))
        raise


_FAILED = """:::{{error}}
This page could not be made:

{message}

What is below comes from this run, up to the failure. See the whole error: `make page NAME={name}{language}`
:::"""


def _make_failed(page: Page, message: str) -> None:
    "Write a page that failed: its text, the outputs up to the failure and a notice."
    from vocab_lit.text.markup import code_block

    nb, unfinished = read_notebook(page.notebook), _unfinished(page)
    for cell in nb["cells"]:
        cell["outputs"] = []
    if unfinished.is_file():
        nb, _ = _read(page)
        _take_outputs(nb, read_notebook(unfinished))
    notice = _FAILED.format(
        message=code_block(message.replace(f"{page.root}/", ""), "text"),
        name="/".join(page.notebook.relative_to(page.root).with_suffix("").parts[1:]),
        language=f" LANGUAGE={page.language}" if page.language else "",
    )
    _write_divided(page, nb, notice)


def _write_divided(page: Page, nb: dict, under_title: str, made: dict | None = None) -> Path:
    "Turn an executed notebook into a page, and its appendix where it has one."
    write_page(nb, page.out, page.notebook.parent, page.root, page.language, page.title, under_title)
    if made:
        nb["metadata"]["made"] = made
    if appendix := divide(nb, page.out.stem):
        _write(appendix, page.out.with_stem(appendix_of(page.out.stem)))
    return _write(nb, page.out)


def _make(page: Page, bar: dict | None) -> Path:
    (nb, changed), root = _read(page), page.root
    text = hashlib.sha256(json.dumps(nb).encode()).hexdigest()[:16]
    made = dict(key=_key(page, nb, changed), whole=text, parameters=page.parameters)
    if made.items() <= page_info(page.out).items():
        return page.out
    executed = root / "_build" / "executed" / f"{page.out.parent.name}-{page.out.name}"
    if page_info(executed).get("key") != made["key"]:
        _run(page, nb, changed, executed, made, bar)
    ran = read_notebook(executed)
    made = ran["metadata"]["made"] | made
    _take_outputs(nb, ran)
    edition = page.out.stem if page.out.stem in editions(root) else ""
    links = stamps(settings(root), page.notebook.relative_to(root).as_posix(), edition)["links"]
    under_title = f"{links} · ran in {made['seconds']} s on {os.cpu_count()} cores{page.note}"
    return _write_divided(page, nb, under_title, made)


def _check_run(language: str, scale: str) -> None:
    "`ValueError` for a scale or language that no chapter can run with."
    from testkit.phrasebook import find_locale

    if scale not in ("mini", "paper", "custom"):
        raise ValueError(f"no scale {scale!r}; choose from mini, paper, custom")
    if scale == "mini":
        find_locale(language)  # raises where the phrasebook has no such language
    if not re.fullmatch(r"[\w.@-]*\w", language):
        raise ValueError(f"language {language!r}: give a code such as sw, which also names the page")


def run_chapter(
    name: str,  # the chapter `book/NAME.ipynb`
    language: str,  # locale code
    scale: str = "mini",  # mini, paper or custom
    # the executed notebook; by default book/runs/NAME-LANGUAGE.ipynb, a page of the book, or beside the book for
    # other scales
    out: str | Path | None = None,
    bar: dict | None = None,  # options of the progress bar
    parameters: dict[str, object] | None = None,  # others of the chapter, by name; `chapter_defaults` has them
) -> Path:
    "Run a chapter for one language, at scale mini as a page of the book; the executed notebook."
    from babel import Locale

    from studies.records.recorded import measured_anew

    root, notebook = checkout(), chapter_path(name)
    _check_run(language, scale)
    if out is None and scale == "mini":
        out = root / "book" / "runs" / f"{name}-{language}.ipynb"
    elif out is None:
        out = root / "_build" / "chapters" / f"{name}-{language}-{scale}.ipynb"
    is_page = Path(out).parent == root / "book" / "runs"
    taken_over = is_page and measured_anew(root / "_build" / "study" / name)["taken over"]
    page = Page(
        notebook,
        Path(out),
        f"chapter {name} ({language})",
        language,
        title=f" ({Locale('en').languages.get(language, language)})",
        parameters=(parameters or {}) | dict(language=language, scale=scale),
        note=", with most measurements [taken from the record](status.md)" if taken_over else "",
    )
    return make(page, {"desc": f"{name} ({language})"} if bar is None else bar)
