"""The short form of the stress test: one kill, of workers with data of their own; `killed_workers` does twenty."""

import random
import shutil

import numpy as np
import pytest

from tests.stress import killed_workers

pytestmark = [pytest.mark.stress, pytest.mark.processes]

KIND = "uneven"


@pytest.fixture(scope="module")
def standard(tmp_path_factory):
    folder = tmp_path_factory.mktemp("standard")
    killed_workers.undisturbed(folder, KIND)
    return folder


def test_after_a_kill_training_goes_on_and_ends_as_if_nothing_had_happened(standard, tmp_path):
    outcome = killed_workers.run_once(tmp_path, standard, random.Random(3), KIND)
    assert not outcome.problems, outcome


def test_other_weights_and_examples_seen_twice_or_missed_are_noticed(standard, tmp_path):
    assert killed_workers.differences(standard, standard) == []
    assert killed_workers.problems_of_examples(standard, KIND) == []
    shutil.copytree(standard, tmp_path / "other")
    weights = dict(np.load(standard / "worker1.npz"))
    np.savez(tmp_path / "other" / "worker1.npz", **{**weights, "arr_0": np.nextafter(weights["arr_0"], 1)})
    notes = (standard / "worker0.steps").read_text().splitlines()
    twice = [notes[0], notes[1], "1 " + notes[1].partition(" ")[2], *notes[3:]]
    (tmp_path / "other" / "worker0.steps").write_text("\n".join(twice))
    assert killed_workers.differences(tmp_path / "other", standard) == [
        "worker 0: other examples in step 1",
        "worker 1: arr_0 differs",
    ]
    assert killed_workers.problems_of_examples(tmp_path / "other", KIND) == [
        "20 examples were not used once in each epoch"
    ]
