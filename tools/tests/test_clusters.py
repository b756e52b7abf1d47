"The configuration for FSDP on the page on clusters, in Accelerate's own launcher."

import os
import re
import subprocess
import sys
from unittest import mock

import pytest
import yaml
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_multi_gpu_env
from transformers import GPT2LMHeadModel

from benchmarks.gpu_checks import FSDP
from testkit.phrasebook import lines
from tools.notebooks import checkout
from vocab_lit import load_model
from vocab_lit.models.device import Device
from vocab_lit.text.corpus import data_path
from vocab_lit.training import sharding
from vocab_lit.training.settings import LaptConfig

PAGE = (checkout() / "book/clusters.md").read_text("utf-8")

START = """
import os

if "RANK" in os.environ:  # not in the launcher
    from testkit.sharding import shard_on_cpus

    shard_on_cpus()
"""


@pytest.fixture
def configuration(tmp_path):
    file = tmp_path / "fsdp.yaml"
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    file.write_text(text.replace("num_processes: 4", "num_processes: 2"))
    return file


def test_a_gpu_is_checked_with_the_configuration_of_the_page(configuration):
    on_page = yaml.safe_load(configuration.read_text())
    assert dict(FSDP, num_processes=2) == on_page


def test_accelerate_reads_the_configuration_as_fsdp2(configuration):
    words = ["--config_file", str(configuration), "--main_process_port", "0", "-m", "vocab_lit", "lapt"]
    arguments = launch_command_parser().parse_args(words)
    with mock.patch.dict(os.environ):
        env = prepare_multi_gpu_env(_validate_launch_command(arguments)[0])
    with mock.patch.dict(os.environ, env), mock.patch.object(sharding, "find_device", lambda: Device("cuda", "")):
        assert sharding.is_sharded()
        sharding.check_sharding(load_model(data_path("models", "mini-gpt2")), LaptConfig())
    assert env["FSDP_STATE_DICT_TYPE"] == "SHARDED_STATE_DICT" and env["FSDP_RESHARD_AFTER_FORWARD"] == "true"


@pytest.mark.slow
def test_the_command_leaves_a_folder_that_transformers_loads(configuration, tmp_path):
    (tmp_path / "sw.txt").write_text("\n".join(lines("sw", 300, seed=0)), "utf-8")
    (tmp_path / "sitecustomize.py").write_text(START)
    (command,) = re.findall(r"^accelerate launch --config_file fsdp.yaml (.*)$", PAGE, re.M)
    words = command.replace("MODEL", str(data_path("models", "mini-gpt2"))).split()
    words += ["--steps", "4", "--batch-size", "4", "--length", "32", "--precision", "fp32"]
    path = os.pathsep.join([str(tmp_path), str(checkout())])
    launch = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--config_file",
        str(configuration),
        "--main_process_port",
        "0",
    ]
    subprocess.run([*launch, *words], cwd=tmp_path, env=os.environ | dict(PYTHONPATH=path), check=True, timeout=600)
    model = GPT2LMHeadModel.from_pretrained(tmp_path / "OUT")
    assert not model.transformer.wte.weight.equal(load_model(data_path("models", "mini-gpt2")).transformer.wte.weight)
    assert (tmp_path / "OUT/losses.csv").is_file() and not (tmp_path / "OUT/run").exists()
