"""`make book`: all notebooks are run, the generated pages are written, and Jupyter Book builds the site."""

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from tools.appendix import appendices
from tools.chapters import chapters, page_names, pages
from tools.colab import EDITIONS, edition_link, write_editions
from tools.jobs import Job, JobsFailed, run_jobs
from tools.kernels import forked_kernels
from tools.links import check_html
from tools.notebooks import checkout, library_notebooks, settings, write_changed
from tools.pages import page_links
from tools.reference import public_page, reference
from tools.run_pages import ALL_ANEW, Page, make, page_info, run_chapter
from tools.status import status

CORES = os.cpu_count() or 1
WORKERS = min(4, CORES)  # pages that run at a time


def page_jobs(root: Path) -> dict[str, Job]:
    "What the book is made of: chapters, first languages before the others, then pages that read them; the library."
    jobs, runs = {}, root / "book" / "runs"

    def add(name, out, run, guess, after=()):
        jobs[name] = Job(run, page_info(out).get("seconds", guess), after)

    for name, languages in chapters(root).items():
        names = [f"{name} ({language})" for language in languages]
        for job, (language, given) in zip(names, languages.items()):
            run = partial(run_chapter, name, language, parameters=given)
            add(job, runs / f"{name}-{language}.ipynb", run, 240, after=() if job == names[0] else names[:1])
    all_chapters, records = list(jobs), tuple(root / "_build" / "study" / name for name in chapters(root))
    for name in pages(root):
        page = Page(root / "book" / f"{name}.ipynb", runs / f"{name}.ipynb", f"page {name}", reads=records)
        add(name, page.out, partial(make, page), 30, all_chapters)
    for path in library_notebooks(root):
        inside = path.relative_to(root / "nbs")
        page = Page(path, root / "book" / "library" / inside, f"notebook nbs/{inside.as_posix()}")
        add(inside.with_suffix("").as_posix(), page.out, partial(make, page), path.stat().st_size / 3000)
    return jobs


def _lay_out_records(root: Path, anew: bool) -> None:
    "Put the records of the pages in place, or take them away."
    from studies.records.recorded import ANEW, lay_out

    os.environ[ALL_ANEW] = "yes" if anew else "no"
    lay_out(root / "_build" / "study", anew=1 if anew else ANEW)


def share_cores() -> int:
    "Give every page its share of the cores, as many threads and processes; how many pages run at a time."
    for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        os.environ.setdefault(name, str(max(1, CORES // WORKERS)))
    return WORKERS


def _remove_renamed(root: Path) -> None:
    "Remove the library's pages whose notebooks are no longer there."
    library = root / "book" / "library"
    for page in library.rglob("*.ipynb"):
        if not (root / "nbs" / page.relative_to(library)).exists():
            page.unlink()


def run_all(anew: bool = False) -> list[Path]:
    "Run all notebooks of the book; anew: no measurement is taken over, otherwise all but one in twenty are."
    from studies.records.findings import MUST_HOLD

    root, workers = checkout(), share_cores()
    _lay_out_records(root, anew)
    _remove_renamed(root)
    os.environ[MUST_HOLD] = "1"
    with forked_kernels():
        return run_jobs(page_jobs(root), workers + 1)  # a page often waits for its kernel


def source_files(root: Path) -> dict[str, str]:
    "The file that each page was made from, by Sphinx's name of the page; generated pages have none."
    made = {page: name for name, runs in page_names(root).items() for page in [*runs, *appendices(root, name, runs)]}
    files = {f"book/runs/{page}": f"book/{name}.ipynb" for page, name in made.items()}
    for path in [*(root / "book").glob("*.md"), *(root / "nbs").glob("*/index.md"), *library_notebooks(root)]:
        file = path.relative_to(root)
        files[re.sub("^nbs/", "book/library/", file.with_suffix("").as_posix())] = file.as_posix()
    return files


def llms_text(root: Path) -> str:
    "The contents of the book, a link to each page, as llmstxt.org describes it, in Markdown."
    cfg, files = settings(root), source_files(root)
    listed = {"Start": ["book/guide", "book/running", "book/glossary", "book/notation"]}
    listed["Chapters"] = [f"book/runs/{runs[0]}" for runs in page_names(root).values()]
    listed["Library"] = [page for page, file in files.items() if re.match(r"nbs/.*\.ipynb$", file)]
    parts = [f"# {cfg['title']}", f"> {cfg['description']}"]
    title = re.compile(r'^(?: *")?# (.+?)(?:\\n",?)?$', re.M)
    for part, names in listed.items():
        titles = (title.findall((root / files[name]).read_text(encoding="utf-8"))[0] for name in names)
        parts += [f"## {part}", "\n".join(f"- [{t}]({name}.html)" for t, name in zip(titles, names))]
    return "\n\n".join(parts) + "\n"


def generated_pages(root: Path) -> dict[str, str]:
    "The pages that no notebook stands behind, path to Markdown: the reference, the status, and each room's first."
    made = {
        "book/library/public.md": public_page(),
        "book/library/reference.md": reference(root),
        "book/runs/status.md": status(WORKERS + 1, root),
    }
    for page in sorted((root / "nbs").glob("*/index.md")):
        room = page.parent.name
        text = page_links(page.read_text(encoding="utf-8"), f"nbs/{room}", f"book/library/{room}", root)
        made[f"book/library/{room}/index.md"] = text
    return made


def _build_html(root: Path, strict: bool = True) -> Path:
    "Build the pages that have changed; the folder. `RuntimeError` tells warnings, and the next call begins anew."
    from tools.pictures import social_card

    write_changed(root, generated_pages(root))
    log, html = root / "_build" / "book.log", root / "_build" / "html"
    log.parent.mkdir(exist_ok=True)
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", *["-W", "-n", "--keep-going"] * strict]
    with log.open("w", encoding="utf-8") as f:
        done = subprocess.run(command, cwd=root, stdout=f, stderr=f)
    if done.returncode:
        shutil.rmtree(root / "_build" / ".doctrees", ignore_errors=True)  # else warnings would not be told again
        lines = log.read_text(encoding="utf-8").splitlines()
        shown = [line for line in lines if re.search(r"WARNING|ERROR", line)] or lines[-9:]
        raise RuntimeError("\n".join(["the book has warnings or errors:", *shown, f"The whole log: {log}"]))
    write_changed(html, {"llms.txt": llms_text(root)})
    social_card().savefig(html / "_static" / "card.png")
    return html


def build_page(name: str, language: str = "") -> Path:
    """Run one notebook and build its page into a book that is there, or into one of this page alone.

    `name`: a chapter or page, book/NAME.ipynb, or a library notebook such as 02_tokens/01_vocab.
    `language`: of a chapter; its first one where none is given.
    """
    root = checkout()
    jobs, languages = page_jobs(root), chapters(root).get(name)
    job = f"{name} ({language or next(iter(languages))})" if languages else name
    if job not in jobs:
        raise ValueError(f"no page {job!r}; choose from {', '.join(jobs)}")
    _lay_out_records(root, anew=False)
    with forked_kernels():
        made = jobs[job].run(bar={"desc": job})
    return (_build_html(root, strict=False) / made.relative_to(root)).with_suffix(".html")


def _tell_differences(root: Path) -> None:
    "Print where numbers that were measured anew are not those of the record."
    from studies.records.recorded import measured_anew

    for name in chapters(root):
        counts = measured_anew(root / "_build" / "study" / name)
        if differing := counts["kept"] - counts["agree"]:
            found = f"{differing} of {counts['kept']} measurements made anew are more than 1% from the record"
            hint = "unless another machine explains that, `make records ARGS=pages` makes all of them anew"
            print(f"{name}: {found}; {hint}", flush=True)


def _check_built(root: Path, html: Path) -> list[str]:
    "List the addresses outside of the book in a file; return dead links and other faults of `check_html`."
    cfg = settings(root)
    colab = edition_link(cfg, "").partition("/blob/")[0]
    there = {f"{cfg['git_url']}/blob/{cfg['branch']}/": root, f"{colab}/blob/{EDITIONS}/": write_editions(root)}
    faults, outside = check_html(html, there)
    listed = root / "_build" / "outside.txt"
    listed.write_text("\n".join(outside) + "\n", encoding="utf-8")
    print(f"{len(outside)} addresses outside the book are listed in {listed}", flush=True)
    return faults


def build_book(anew: bool = False) -> Path:
    """Run all notebooks, anew as in `run_all`, and build the book; return its first page.

    Warnings and dead links are errors. Pages that fail are built with a notice, and named by `RuntimeError` at the end.
    """
    root, failed = checkout(), None
    try:
        run_all(anew)
    except JobsFailed as error:
        failed = error
    print("building the pages ...", flush=True)
    html = _build_html(root, strict=not failed)
    _tell_differences(root)
    faults = _check_built(root, html)
    problems = ["the pages are built and have faults:", *faults] if faults else []
    if failed:
        problems += ["the book is built, with a notice on each page that failed", str(failed)]
    if problems:
        raise RuntimeError("\n".join(problems))
    return html / "index.html"
