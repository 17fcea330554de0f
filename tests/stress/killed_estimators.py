"""Kills the tasks of `train_and_evaluate` at random steps, and checks what comes of it.

Run it from the root of the checkout: ``python -m tests.stress.killed_estimators --kills 20``, with ``--alone`` for a
chief without a worker. Whoever is killed (chief, worker, evaluator or all of them) is started again. In the end the
variables of every checkpoint and every metric that the evaluator has written must be, bit for bit, those of a training
that nobody disturbed, and no checkpoint may have been evaluated twice. The exit status is 1 if that is not so.
"""

import argparse
import os
import pathlib
import random
import sys
import tempfile
import time

import numpy as np

from stratax.summary import files
from tests.cluster import processes
from tests.stress import killed_estimator

PAUSE, LIMIT = 0.02, 200.0
RUN = "import pathlib; from tests.stress import killed_estimator; folder = pathlib.Path(sys.argv[1])\n"
TASK = f"{RUN}killed_estimator.main(folder, float(sys.argv[2]))"
DESCRIPTION = f"{RUN}killed_estimator.describe(folder); killed_estimator.describe(pathlib.Path(sys.argv[2]))"
EVERYBODY = "all"


class Job:
    """The tasks of a job, each in its last start."""

    def __init__(self, running, folder, kinds, cache):
        self._running, self._folder, self._kinds = running, folder, kinds
        self._variables = {
            "JAX_COMPILATION_CACHE_DIR": cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        self._cluster = {}
        self._numbers = {}

    def start_training(self):
        """Starts chief and worker, with new ports."""
        addresses = processes.addresses(len(self._kinds), chief=True)
        self._cluster = {kind: found for kind, found in addresses.items() if found}
        for kind in self._kinds:
            self._start(kind)

    def start_evaluator(self):
        """Starts the evaluator."""
        self._start("evaluator")

    def steps(self):
        """How many steps the chief has done since it was started."""
        notes = self._folder / "chief.notes"
        words = notes.read_text().split("start")[-1].split() if notes.exists() else []
        # The first word is its process id.
        pid = self._running.pid(self._numbers["chief"])
        return int(words[-1]) if len(words) > 1 and words[0] == str(pid) else 0

    def wait_for_step(self, step):
        """Waits until the chief has done a step."""
        deadline = time.monotonic() + LIMIT
        while self.steps() < step:
            if time.monotonic() > deadline:
                self._running.wait(0)
            time.sleep(0.005)

    def kill(self, kind):
        """Kills tasks, and starts them again with those that end because of it."""
        killed = [*self._kinds, "evaluator"] if kind == EVERYBODY else [kind]
        for each in killed:
            self._running.kill(self._numbers[each])
        if kind != "evaluator":
            # The other one notices that it is alone.
            codes = [result.code for result in self._wait(*self._kinds)]
            assert all(code in (-9, 201) for code in codes), codes
            self.start_training()
        if kind in (EVERYBODY, "evaluator"):
            self.start_evaluator()

    def end(self):
        """Waits until all have ended well."""
        for result in self._wait(*self._kinds, "evaluator"):
            assert result.code == 0, result.err[-4000:]

    def _wait(self, *kinds):
        return self._running.wait(LIMIT, only=[self._numbers[kind] for kind in kinds])

    def _start(self, kind):
        environment = processes.environment(self._cluster, kind, 0, variables=self._variables)
        self._numbers[kind] = self._running.start(TASK, environment, str(self._folder), str(PAUSE))


def described(running, folders, cache):
    """The variables and metrics of all checkpoints of two jobs."""
    environment = processes.environment({}, "worker", 0, variables={"JAX_COMPILATION_CACHE_DIR": cache})
    number = running.start(DESCRIPTION, {**environment, "TF_CONFIG": ""}, *map(str, folders))
    (result,) = running.wait(LIMIT, only=[number])
    assert result.code == 0, result.err[-4000:]
    return [
        {path.stem: dict(np.load(path)) for path in folder.glob("model.ckpt-*.npz")} for folder in folders
    ]


def evaluations(folder):
    """The steps and metrics that an evaluator has written, in order."""
    found = []
    for name in sorted((folder / "model" / "eval").glob("events*")):
        for event in files.summary_iterator(str(name)):
            if event.summary.value:
                found.append((event.step, {value.tag: value.simple_value for value in event.summary.value}))
    return found


def problems(folder, kinds, victims, chance):
    """Runs a job undisturbed, and once more with kills; returns what is not the same.

    Args:
        folder: Where both leave what they do.
        kinds: The tasks that train.
        victims: Who is killed, in that order.
        chance: Chooses the steps.
    """
    cache = str(folder / "compiled")
    steps = sorted(chance.sample(range(1, killed_estimator.STEPS - 2), len(victims)))
    whole, parts = folder / "whole", folder / "parts"
    with processes.no_tasks() as running:
        for each in (whole, parts):
            each.mkdir()
            job = Job(running, each, kinds, cache)
            job.start_training()
            job.start_evaluator()
            for step, victim in zip(steps, victims, strict=True) if each == parts else ():
                job.wait_for_step(step)
                time.sleep(chance.uniform(0, 2 * PAUSE))
                job.kill(victim)
            job.end()
        expected, found = described(running, (whole, parts), cache)
    problems = differences(expected, found)
    for each in (whole, parts):
        problems += wrong_evaluations(evaluations(each), expected)
    return [f"kills of {list(zip(victims, steps, strict=True))}: {problem}" for problem in problems]


def differences(expected, found):
    """What is not the same in the checkpoints of two jobs."""
    if sorted(expected) != sorted(found):
        return [f"the checkpoints are {sorted(found)} instead of {sorted(expected)}"]
    return [
        f"{name} of {checkpoint} differs"
        for checkpoint, values in expected.items()
        for name in sorted({*values, *found[checkpoint]})
        if name not in values or values[name].tobytes() != found[checkpoint][name].tobytes()
    ]


def wrong_evaluations(written, expected):
    """What is wrong in what an evaluator has written: steps that come twice, other metrics, no last evaluation."""
    seen = [step for step, _ in written]
    found = [] if seen == sorted(set(seen)) else [f"steps were evaluated in the order {seen}"]
    if killed_estimator.STEPS not in seen:
        found.append("the last checkpoint was not evaluated")
    for step, metrics in written:
        numbers = expected[f"model.ckpt-{step}"]
        wrong = {name: value for name, value in metrics.items() if value != numbers[f"metrics {name}"]}
        found += [f"metrics of step {step} differ: {wrong}"] if wrong else []
    return found


def main():
    """Runs one job with the kills; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alone", action="store_true", help="a chief without a worker")
    options = parser.parse_args()
    os.environ.setdefault("XLA_FLAGS", "")  # As users have it.
    chance = random.Random(options.seed)
    kinds = ("chief",) if options.alone else ("chief", "worker")
    victims = chance.choices([*kinds, "evaluator", EVERYBODY], k=options.kills)
    with tempfile.TemporaryDirectory(prefix="stratax-killed-") as name:
        found = problems(pathlib.Path(name), kinds, victims, chance)
    print(*(found or [f"{options.kills} kills, as undisturbed"]), sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
