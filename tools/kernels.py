"""Kernels that are forked from one process with everything imported, which saves each page some seconds."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

from tools.run_pages import QUIET

IMPORTED = (  # what most pages import, and what starts a kernel
    "ipykernel.kernelapp",
    "matplotlib.pyplot",  # its backend, which shows figures, finds its kernel when it is imported
    "seaborn",
    "sklearn.linear_model",
    "transformers.trainer",
    *(f"transformers.models.{name}.modeling_{name}" for name in ("bert", "gpt2", "roberta", "xlm_roberta")),
    "gensim.models.fasttext",
    "babel.numbers",
    "fontTools.ttLib",
)
# what some modules read when they are imported; a process that has started CUDA could not be forked
_EARLY = {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}


def _become_kernel(arguments: list[str], cwd: Path, env: dict[str, str]) -> None:
    "Turn this process, which was just forked, into a kernel."
    os.setsid()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    if "pandas" in sys.modules:  # asks when it is imported whether it writes for a terminal
        sys.modules["pandas"].set_option("display.max_columns", 20)
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])


def _as_popen(process: BaseProcess) -> SimpleNamespace:
    "A process of multiprocessing with the methods of `subprocess.Popen` that jupyter_client calls."
    return SimpleNamespace(
        **dict.fromkeys(("stdin", "stdout", "stderr")),
        poll=lambda: process.exitcode,
        wait=process.join,
        send_signal=lambda number: os.kill(cast(int, process.pid), number),
        terminate=process.terminate,
        kill=process.kill,
    )


def _provisioner(modules: Iterable[str]) -> type:
    "Start the process with the modules imported; return what jupyter_client starts kernels with."
    from jupyter_client.provisioning.local_provisioner import LocalProvisioner

    context = get_context("forkserver")
    cast(Any, forkserver)._forkserver._stop()  # another user of the server has other modules
    context.set_forkserver_preload(list(modules))
    with patch.dict(os.environ, QUIET | _EARLY):
        forkserver.ensure_running()

    class ForkedKernel(LocalProvisioner):
        async def launch_kernel(self, cmd, **options):
            arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
            kernel = (arguments, Path(options.get("cwd") or Path.cwd()), dict(options["env"]))
            process = context.Process(target=_become_kernel, args=kernel)
            process.start()
            self.process, self.pid, self.pgid = _as_popen(process), process.pid, process.pid
            return self.connection_info

    return ForkedKernel


@contextmanager
def forked_kernels(modules: Iterable[str] = IMPORTED) -> Iterator[None]:
    "Inside the block, run notebooks in kernels that are forked from one process; only Linux has such kernels."
    if sys.platform != "linux":
        yield
        return
    from jupyter_client.provisioning.factory import KernelProvisionerFactory

    factory, forked = KernelProvisionerFactory.instance(), _provisioner(modules)
    usual = factory.default_provisioner_name
    factory.provisioners["forked"] = cast(Any, SimpleNamespace(load=lambda: forked))  # in place of an entry point
    factory.default_provisioner_name = "forked"
    try:
        yield
    finally:
        factory.default_provisioner_name = usual
        del factory.provisioners["forked"]
        cast(Any, forkserver)._forkserver._stop()
