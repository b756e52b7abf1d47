"""What all tests share: those of the library, made from its notebooks, and of studies, benchmarks and tools."""

import functools
import gc
import os
import sys

import hypothesis
import pytest

from vocab_lit.text.errors import garbage_collected_inside

# What is imported stays. Looking through it at every 700 new objects would take a tenth of the time.
gc.set_threshold(20_000)
hypothesis.settings.load_profile("ci")  # the same examples in every run, and no deadline
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")
    parser.addoption("--real", action="store_true", help="also run the tests marked real")


def pytest_configure(config):
    config.addinivalue_line("markers", "cell(notebook, label): the notebook cell that a test was made from")
    config.addinivalue_line("markers", "slow: takes long; runs with --slow")
    config.addinivalue_line("markers", "real: needs pretrained models; runs with --real")
    config.addinivalue_line("markers", "gpu: needs a GPU")


def pytest_unconfigure():
    gc.freeze()  # what is left goes with the process, and is not gone through for cycles before


def pytest_collection_finish():
    "Make each command line once, which typer's test runner would do at each call."
    if testing := sys.modules.get("typer.testing"):
        testing._get_command = functools.cache(testing._get_command)


@pytest.fixture(scope="session", autouse=True)
def keep_frozen_what_is_frozen():
    with garbage_collected_inside():
        yield


@pytest.fixture(scope="session", autouse=True)
def compute_in_fp32_on_any_processor():
    "Let training compute in fp32 where bf16 is faster too, since tests compare its numbers."
    from vocab_lit.models import device

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "product_seconds", lambda: dict(fp32=1.0, bf16=1.0))
        yield


@pytest.fixture(scope="module", autouse=True)
def freeze_before_each_module(keep_frozen_what_is_frozen):
    "Let no collection look again through what is imported or what earlier modules keep."
    gc.collect(1)  # a full collection would cost more than it saves
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def forget_tasks_after_each_module():
    "Forget the tasks that a module's examples have registered."
    yield
    if registry := sys.modules.get("vocab_lit.tasks.settings"):
        for name, task in list(registry.TASKS.items()):
            if not type(task).__module__.startswith(("vocab_lit.", "studies.")):
                del registry.TASKS[name]


def _has_gpu():
    import torch

    return torch.cuda.is_available()


def pytest_runtest_setup(item):
    if item.get_closest_marker("slow") and not item.config.getoption("--slow"):
        pytest.skip("slow: run with --slow")
    if item.get_closest_marker("real") and not item.config.getoption("--real"):
        pytest.skip("real: get the models by python -m studies.models.real, then run with --real")
    if item.get_closest_marker("gpu") and not _has_gpu():
        pytest.skip("needs a GPU")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    "Name the cell of a notebook whose test fails."
    report = yield
    marker = item.get_closest_marker("cell")
    if marker and report.failed:
        report.sections.append(("edit this cell", "notebook {}, {}".format(*marker.args)))
    return report
