"""A server that answers as the Hub's API does, from a folder with NAMESPACE/NAME/files for each data set or model."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "0" * 39 + "1"


def _entry(path: Path, root: Path) -> dict:  # of a tree
    about = dict(path=str(path.relative_to(root)), oid=sha1(str(path).encode()).hexdigest(), size=0)
    if path.is_dir():
        return dict(type="directory", **about)
    return dict(type="file", **about | dict(size=path.stat().st_size))


class _Answers(BaseHTTPRequestHandler):
    root: Path
    gated: Iterable[str] = ()
    asked: list[str]

    def log_message(self, *_):
        pass

    def _send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), Content_Type="application/json")

    def _refuse(self, status: int, code: str) -> None:
        self._send(status, X_Error_Code=code, X_Error_Message=code)

    def _route(self) -> tuple[str, Path, list[str]] | None:  # api or files, the repository's folder, what follows
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        kind = parts.pop(0) if parts[0] == "api" else "files"
        if parts[0] in ("datasets", "models"):
            parts.pop(0)
        name = "/".join(parts[:2])
        folder = self.root / name
        if not folder.is_dir():
            self._refuse(404, "RepoNotFound")
        elif name in self.gated and kind == "files" and parts[-1] != "README.md":  # which lists its files to all
            self._refuse(403, "GatedRepo")
        else:
            return kind, folder, parts[2:]
        return None

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if not (found := self._route()):
            return
        kind, folder, rest = found
        if kind == "files":
            self._file(folder, "/".join(rest[2:]))  # resolve/REVISION/...
        elif rest[:1] == ["tree"]:
            self._tree(folder, "/".join(rest[2:]))
        else:
            self._about(folder)

    do_HEAD = do_GET

    def do_POST(self) -> None:  # paths-info
        self.asked.append(self.path)
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        if found := self._route():
            folder = found[1]
            places = [folder / path for path in form.get("paths", [])]
            self._json([_entry(place, folder) for place in places if place.exists()])

    def _file(self, folder: Path, name: str) -> None:
        path = folder / name
        if not path.is_file():
            self._refuse(404, "EntryNotFound")
            return
        body = path.read_bytes()
        self._send(200, body, ETag=f'"{sha1(body).hexdigest()}"', X_Repo_Commit=COMMIT)

    def _tree(self, folder: Path, below: str) -> None:
        if not (folder / below).is_dir():
            self._refuse(404, "EntryNotFound")
            return
        deep = "recursive=true" in self.path.lower()
        found = (folder / below).rglob("*") if deep else (folder / below).iterdir()
        self._json([_entry(path, folder) for path in sorted(found) if not path.name.startswith(".")])

    def _about(self, folder: Path) -> None:
        name = str(folder.relative_to(self.root))
        files = [dict(rfilename=str(path.relative_to(folder))) for path in folder.rglob("*") if path.is_file()]
        self._json(dict(id=name, _id="1", sha=COMMIT, private=False, gated=False, disabled=False, tags=[],
                        downloads=0, likes=0, siblings=files, lastModified="2026-01-01T00:00:00.000Z"))  # fmt: skip


@contextmanager
def serve(
    root: Path,
    gated: Iterable[str] = (),  # repositories whose terms nobody has agreed to
) -> Iterator[tuple[str, list[str]]]:  # the address, and what was asked for
    "Answer as the Hub does while the context lasts."
    asked: list[str] = []
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Answers", (_Answers,), dict(root=root, gated=gated, asked=asked))
    )
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
