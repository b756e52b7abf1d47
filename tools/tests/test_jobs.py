from pathlib import Path
from threading import Barrier

import pytest

from tools.jobs import Job, JobsFailed, run_jobs


def toy_jobs(log, failing="", first=1):
    "Jobs that write their names into a log when they begin; so many of the first ones wait for each other."
    together = Barrier(first)

    def job(name, seconds, after=()):
        def run(bar):
            log.append(name)
            if len(log) <= first:
                together.wait()
            if name == failing:
                raise ValueError("boom")
            return Path(name)

        return Job(run, seconds, after)

    return {
        "a-1": job("a-1", 1),
        "a-2": job("a-2", 5, ["a-1"]),
        "b": job("b", 3),
        "c": job("c", 2),
        "last": job("last", 4, ["a-1", "a-2", "b"]),
    }


def test_a_run_begins_after_what_it_needs_the_longest_way_first():
    log = []
    jobs = toy_jobs(log)
    assert {path.name for path in run_jobs(jobs, 1)} == set(jobs) and log == ["a-1", "a-2", "b", "last", "c"]
    log.clear()
    run_jobs(toy_jobs(log, first=2), 2)
    assert set(log[:2]) == {"a-1", "b"} and log.index("last") > log.index("a-2")


def test_a_failure_stops_no_other_job_and_is_named_when_all_have_ended():
    log = []
    with pytest.raises(JobsFailed, match="^failed: a-1\nboom$") as error:
        run_jobs(toy_jobs(log, failing="a-1"), 1)
    assert log == ["a-1", "a-2", "b", "last", "c"] and error.value.failed == {"a-1": "boom"}
