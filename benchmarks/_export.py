"""Exports: calls of a loaded signature against the jitted function, and what writing one takes."""

import os
import pathlib
import tempfile
import time
from typing import Any

import jax
import keras
import numpy as np

from benchmarks import _measure
from stratax import export

_LAYERS = 4


def call(model: str, batch: int, plan: _measure.Plan) -> _measure.Figure:
    """How many times as long a call of an export takes as one of the same Keras model under `jax.jit`."""
    made = model_of(model)
    with tempfile.TemporaryDirectory() as folder:
        export.save(made, pathlib.Path(folder, "1"), platforms=["cpu"])
        signature = export.load(pathlib.Path(folder, "1")).signatures["serving_default"]
    trained = [variable.value for variable in made.trainable_variables]
    rest = [variable.value for variable in made.non_trainable_variables]
    compiled = jax.jit(lambda trained, rest, x: made.stateless_call(trained, rest, x, training=False)[0])
    x = np.random.default_rng(0).random((batch, *made.input_shape[1:]), np.float32)

    def loaded(count: int) -> None:
        for _ in range(count):
            signature(x)

    def by_hand(count: int) -> None:
        for _ in range(count):
            np.asarray(compiled(trained, rest, x))

    found = _measure.in_turns(loaded, by_hand, plan=plan)
    return _measure.ratio(*found, unit="us", numerator="loaded", denominator="by hand")


def saved(width: int, plan: _measure.Plan) -> _measure.Figure:
    """How long an export of 4 square layers takes, in seconds; the details say its size over the weights'."""
    made = keras.Sequential([keras.Input((width,)), *(keras.layers.Dense(width) for _ in range(_LAYERS))])
    weights = sum(variable.numpy().nbytes for variable in made.weights)
    times, size = [], 0
    for _ in range(plan.processes):
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            export.save(made, pathlib.Path(folder, "1"))
            times.append(time.perf_counter() - started)
            size = sum(os.path.getsize(file) for file in pathlib.Path(folder).rglob("*") if file.is_file())
    return _measure.spread(times, {"size_over_weights": size / weights})


def model_of(name: str) -> Any:
    """Return the model that is called and served: `"mlp"` or `"cnn"`."""
    return _cnn() if name == "cnn" else _mlp()


def _mlp() -> Any:
    return keras.Sequential([keras.Input((784,)), keras.layers.Dense(128, "relu"), keras.layers.Dense(10)])


def _cnn() -> Any:
    convolutions = [keras.layers.Conv2D(32, 3, activation="relu"), keras.layers.MaxPooling2D()]
    more = [keras.layers.Conv2D(64, 3, activation="relu"), keras.layers.MaxPooling2D()]
    return keras.Sequential(
        [keras.Input((28, 28, 1)), *convolutions, *more, keras.layers.Flatten(), keras.layers.Dense(10)]
    )
