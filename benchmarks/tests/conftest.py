"""One trial of all parts, which the tests of benchmarks share."""

import pytest

from benchmarks.parts import PARTS, run_bench


@pytest.fixture(scope="session")
def trial() -> dict[str, dict]:  # {part: record}
    "Every part in tiny sizes, without other packages."
    return run_bench([*PARTS], None, small=True, folder="nowhere")
