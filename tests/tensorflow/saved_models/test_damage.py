"""Damaged SavedModels give an error of Stratax, or what they say, in bounded time and memory.

`STRATAX_DAMAGED=5000 pytest tests/tensorflow/saved_models/test_damage.py` looks at as many.
"""

import os
import random
import shutil
import warnings

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.golden.saved_models_cases import answers_of
from tests.tensorflow.saved_models.files import unpack

COUNT = int(os.environ.get("STRATAX_DAMAGED", "100"))
# Small ones, which are quickly computed.
CASES = ("module_variables", "graph_nested_control", "graph_table", "module_examples")


def damaged(content, draw):
    """Return bytes with one kind of damage."""
    made = bytearray(content)
    kind = draw.randrange(5)
    place = draw.randrange(len(made))
    if kind == 0:
        return bytes(made[:place])
    if kind == 1:
        for _ in range(draw.choice((1, 3, 30))):
            made[draw.randrange(len(made))] = draw.randrange(256)
    elif kind == 2:
        del made[place : place + draw.choice((1, 4, 100))]
    elif kind == 3:
        made[place:place] = bytes(draw.randrange(256) for _ in range(draw.choice((1, 8, 50))))
    else:
        other = draw.randrange(len(made))
        size = draw.choice((2, 20, 200))
        made[place : place + size] = made[other : other + size]
    return bytes(made)


@pytest.mark.timeout(20 * COUNT)
def test_damaged_files_give_errors_of_stratax_or_answers(tmp_path):
    draw = random.Random(0)
    folders = {name: unpack(name, tmp_path) for name in CASES}
    cases = {name: answers_of(folder) for name, folder in folders.items()}
    outcomes = {"told": 0, "answered": 0}
    for number in range(COUNT):
        name = CASES[number % len(CASES)]
        folder = tmp_path / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(folders[name] / "model", folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        # Most of the time the graph.
        path = folder / "saved_model.pb" if draw.random() < 0.8 else draw.choice(files)
        path.write_bytes(damaged(path.read_bytes(), draw) if path.stat().st_size else b"x")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loaded = tf.saved_model.load(folder)
                for signature, case in cases[name].items():
                    if signature in loaded.signatures:
                        made = loaded.signatures[signature](**case["in"])
                        assert all(np.asarray(each).nbytes < 1 << 24 for each in made.values())
        except errors.StrataxError:
            outcomes["told"] += 1
        else:
            outcomes["answered"] += 1
    assert outcomes["told"]
    assert outcomes["answered"]
