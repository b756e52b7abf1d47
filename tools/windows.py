"""What Windows lacks and forbids, taken from a Python on Linux. There is no way back: for a process of its own.

Gone, for the library, are modules, functions and signals. Text is written with CRLF, and read and written in cp1252
where no encoding is named. A file that is open or mapped cannot be moved, replaced or removed, nor a folder with one in
it; a folder cannot take the place of another; names have no characters that Windows reserves.
"""

import builtins
import errno
import importlib
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_MODULES = ["curses", "fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"]
_OF_OS = """chown chroot confstr fchdir fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getpgrp
getpriority getsid getuid killpg lchown lockf mkfifo mknod nice openpty pathconf pread preadv pwrite pwritev
sched_getaffinity sched_setaffinity sendfile setgid setpgid setsid setuid statvfs sync sysconf ttyname uname wait wait3
wait4 O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC EX_OK EX_TEMPFAIL EX_USAGE"""
_OF_SIGNAL = """SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 alarm
getitimer pause pthread_kill pthread_sigmask setitimer sigpending sigwait"""
_LACKING = {
    "os": _OF_OS,
    "signal": _OF_SIGNAL,
    "mmap": "MADV_DONTNEED MADV_SEQUENTIAL PROT_READ MAP_SHARED MAP_PRIVATE",
}
_NO_NAME = re.compile(r'[\x00-\x1f<>:"|?*\\]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$', re.IGNORECASE)


def _at(name: Any, folder: int | None = None) -> Path:  # folder: its descriptor, of a relative name
    "The absolute path of what a call was given."
    base = os.readlink(f"/proc/self/fd/{folder}") if folder is not None else ""
    return Path(os.path.abspath(os.path.join(base, os.fsdecode(name))))


def _in_use() -> set[Path]:
    "The files that this process has open or mapped."
    maps = io.FileIO("/proc/self/maps").readall().decode().splitlines()
    names = [line.split(maxsplit=5)[5] for line in maps if line.count("/")]
    for descriptor in os.listdir("/proc/self/fd"):
        if os.path.exists(link := f"/proc/self/fd/{descriptor}"):  # not that of the listing itself
            names.append(os.readlink(link))
    return {path for path in map(Path, names) if path.is_file()}


def _check_free(path: Path) -> None:
    for used in _in_use():
        if path in (used, *used.parents) and not path.is_symlink():
            raise PermissionError(errno.EACCES, f"{used} is being used by this process", str(path))


def _check_name(path: Path) -> None:
    for part in path.parts[1:]:
        if _NO_NAME.search(part):
            raise OSError(errno.EINVAL, "reserved name", str(path))


def _moving(move: Callable, replaces: bool) -> Callable:
    def moved(src, dst, *, src_dir_fd=None, dst_dir_fd=None):
        there = _at(dst, dst_dir_fd)
        _check_free(_at(src, src_dir_fd))
        _check_name(there)
        if there.is_dir() or (there.exists() and not replaces):
            raise PermissionError(errno.EACCES, "there is one already", str(there))
        if there.exists():
            _check_free(there)
        return move(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    return moved


def _removing(remove: Callable) -> Callable:
    def removed(path, *, dir_fd=None):
        _check_free(_at(path, dir_fd))
        return remove(path, dir_fd=dir_fd)

    return removed


def _making(make: Callable) -> Callable:
    def made(path, mode=0o777, *, dir_fd=None):
        _check_name(_at(path, dir_fd))
        return make(path, mode, dir_fd=dir_fd)

    return made


def _opening(given: Callable) -> Callable:
    def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
        writes = bool(set(mode) & set("wax+"))
        if writes and not isinstance(file, int):
            _check_name(_at(file))
        if "b" not in mode:
            encoding = "cp1252" if encoding in (None, "locale") else encoding
            newline = "\r\n" if writes and newline is None else newline
        return given(file, mode, buffering, encoding, errors, newline, closefd, opener)

    return opened


def _lacking(name: str, names: str) -> ModuleType:
    "A module without some of its names."
    whole, less = importlib.import_module(name), ModuleType(name)
    vars(less).update({key: value for key, value in vars(whole).items() if key not in names.split()})
    return less


def _importing(given: Callable) -> Callable:
    lacking = {name: _lacking(name, names) for name, names in _LACKING.items()}

    def imported(name, globals=None, locals=None, fromlist=(), level=0):
        if not (globals or {}).get("__name__", "").startswith("vocab_lit"):
            return given(name, globals, locals, fromlist, level)  # other packages have builds of their own for Windows
        if name in _MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return lacking.get(name) or given(name, globals, locals, fromlist, level)

    return imported


def pretend() -> None:
    "Make this process as one on Windows, before it imports the library."
    os.linesep = "\r\n"
    os.replace, os.rename = _moving(os.replace, True), _moving(os.rename, False)
    os.unlink = os.remove = _removing(os.unlink)
    os.mkdir = _making(os.mkdir)
    builtins.open = io.open = _opening(io.open)
    builtins.__import__ = _importing(builtins.__import__)
