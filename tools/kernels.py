"""Kernels that are forked from one process with everything imported, which saves each page some seconds."""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any, cast

from tools.run_pages import QUIET

IMPORTED = (  # what most pages import, and what starts a kernel
    "ipykernel.kernelapp",
    "matplotlib.pyplot",  # its backend, which shows figures, finds its kernel when it is imported
    "seaborn",
    "sklearn.linear_model",
    "transformers.trainer",
    "transformers.models.bert.modeling_bert",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.roberta.modeling_roberta",
    "transformers.models.xlm_roberta.modeling_xlm_roberta",
    "gensim.models.fasttext",
    "babel.numbers",
    "fontTools.ttLib",
)


def serve_kernels(modules: Iterable[str]) -> None:
    "Import modules, then fork a kernel for each line of standard input, JSON for `_become_kernel`; print its number."
    for module in modules:
        importlib.import_module(module)
    gc.freeze()  # what is there is not looked through again, so that it stays shared
    signal.signal(signal.SIGCHLD, _forget_ended)
    for line in sys.stdin:
        kernel = os.fork()
        if kernel:
            print(kernel, flush=True)
        else:
            _become_kernel(**json.loads(line))
            break


def _forget_ended(*_) -> None:
    "Let the operating system forget the kernels that have ended."
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def _become_kernel(arguments: list[str], cwd: str, env: dict[str, str]) -> None:
    "Turn this process, which was just forked, into a kernel."
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    if "pandas" in sys.modules:  # asks when it is imported whether it writes for a terminal
        sys.modules["pandas"].set_option("display.max_columns", 20)
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])


class _Forked:
    "What jupyter_client asks of a `subprocess.Popen`, of a process that another one has forked."

    stdin = stdout = stderr = None

    def __init__(self, pid: int):
        self.pid = pid

    def poll(self) -> int | None:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        while self.poll() is None:
            time.sleep(0.02)
        return 0

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@contextmanager
def _server(modules: Iterable[str]) -> Iterator[subprocess.Popen]:
    "The process that kernels are forked from."
    code = f"from tools.kernels import serve_kernels; serve_kernels({list(modules)})"
    # what some modules ask for when they are imported; a process that has started CUDA could not be forked
    early = {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
    command, pipe = [sys.executable, "-c", code], subprocess.PIPE
    with subprocess.Popen(command, env=os.environ | QUIET | early, stdin=pipe, stdout=pipe, text=True) as server:
        yield server  # it ends when its standard input is closed


def _ask(server: subprocess.Popen, kernel: dict) -> int:
    "Ask for a kernel; the number of its process."
    assert server.stdin and server.stdout  # they are pipes
    print(json.dumps(kernel), file=server.stdin, flush=True)
    return int(server.stdout.readline())


def _provisioner(server: subprocess.Popen) -> type:
    "What jupyter_client starts kernels with."
    from jupyter_client.provisioning.local_provisioner import LocalProvisioner

    asking = Lock()

    class ForkedKernel(LocalProvisioner):
        async def launch_kernel(self, cmd, **options):
            arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
            asked = dict(arguments=arguments, cwd=str(options.get("cwd") or Path.cwd()), env=dict(options["env"]))
            with asking:
                self.pid = _ask(server, asked)
            self.process, self.pgid = _Forked(self.pid), self.pid
            return self.connection_info

    return ForkedKernel


@contextmanager
def forked_kernels(modules: Iterable[str] = IMPORTED) -> Iterator[None]:
    "Inside the block notebooks run in kernels that are forked from one process; elsewhere than on Linux in usual ones."
    if sys.platform != "linux":
        yield
        return
    from jupyter_client.provisioning.factory import KernelProvisionerFactory

    factory = KernelProvisionerFactory.instance()
    usual = factory.default_provisioner_name
    with _server(modules) as server:
        forked = _provisioner(server)
        factory.provisioners["forked"] = cast(Any, SimpleNamespace(load=lambda: forked))  # in place of an entry point
        factory.default_provisioner_name = "forked"
        try:
            yield
        finally:
            factory.default_provisioner_name = usual
            del factory.provisioners["forked"]
