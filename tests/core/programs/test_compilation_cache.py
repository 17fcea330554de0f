"""JAX's persistent compilation cache: a second start compiles nothing. Starts processes."""

import json
import os
import subprocess
import sys

import pytest

_PROGRAM = """
import collections, json
import stratax as sx
import jax, keras
import numpy as np

counts = collections.Counter()
jax.monitoring.register_event_listener(lambda event, **_: counts.update([event.rsplit("/", 1)[-1]]))
strategy = sx.distribute.MirroredStrategy()
keras.utils.set_random_seed(1)
with strategy.scope():
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((8, 8, 3)),
            layers.SeparableConv2D(8, 3, padding="same"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Dropout(0.5),
            layers.Flatten(),
            layers.Dense(4),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
random = np.random.default_rng(0)
x, y = random.random((16, 8, 8, 3), np.float32), random.integers(0, 4, 16)
losses = model.fit(x, y, batch_size=8, epochs=2, verbose=0, shuffle=False).history["loss"]
predicted = float(model.predict(x, verbose=0).sum())
told = []


@sx.function
def program(x):
    jax.debug.callback(lambda value: told.append(float(value)), x.sum())
    return x * 2


program(jax.numpy.arange(4.0))
jax.effects_barrier()
print(json.dumps({"losses": losses, "predicted": predicted, "told": told, **counts}))
"""


def _start(folder):
    environment = os.environ | {
        "STRATAX_SIMULATE": "cpu:2",
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    arguments = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(
        arguments, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    return [_start(folder), _start(folder)]


@pytest.mark.programs
def test_a_second_start_compiles_nothing_but_what_calls_the_host(starts):
    first, second = starts
    assert first["cache_misses"] > 5
    assert second["cache_hits"] == second["compile_requests_use_cache"] - 1
    assert second.get("cache_misses", 0) <= 1


def test_a_second_start_computes_the_same(starts):
    first, second = starts
    assert second["losses"] == first["losses"]
    assert second["predicted"] == first["predicted"]


def test_what_calls_python_is_no_other_processs(starts):
    assert [start["told"] for start in starts] == [[6.0], [6.0]]
