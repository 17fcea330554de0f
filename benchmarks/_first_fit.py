"""The first `fit` of a model in a process, most of which is compiling, against Keras' own; each in fresh processes.

What counts are processor seconds: the compiler has a thread for each core, and other work on the machine takes turns.
"""

import concurrent.futures
import contextlib
import functools
import json
import os
import subprocess
import sys
import time
from typing import Any

from benchmarks import _measure

_BATCH = 8
_STEPS = 3
_TURNS = 2
_CLASSES = 10
_WORDS = 1000
_LENGTH = 64

# The least that a model takes is 32 pixels, and 75 here.
_PIXELS = {"InceptionV3": 75}


def against_keras(model: str, devices: int, plan: _measure.Plan) -> _measure.Figure:
    """The first fit's processor seconds under a strategy, against Keras' own; the details have the later steps, too."""
    found: dict[str, list[dict[str, float]]] = {"stratax": [], "keras": []}
    with concurrent.futures.ThreadPoolExecutor(len(found)) as pool:
        for _ in range(min(plan.processes, _TURNS)):
            # At once: what else the machine does meets both alike, and it takes half of the time.
            runs = pool.map(functools.partial(_process, model=model, devices=devices), found)
            for side, run in zip(found, runs, strict=True):
                found[side].append(run)
    least = {
        f"{side}_{name}": min(run[name] for run in runs) for side, runs in found.items() for name in runs[0]
    }
    ratios = [ours["first_s"] / theirs["first_s"] for ours, theirs in zip(*found.values(), strict=True)]
    spread = _measure.spread(ratios)
    value = least["stratax_first_s"] / least["keras_first_s"]
    return _measure.Figure(value=value, low=spread.low, high=spread.high, details=least)


def _process(side: str, model: str, devices: int) -> dict[str, float]:
    environment = {name: value for name, value in os.environ.items() if name != "STRATAX_SIMULATE"}
    # On both sides the processor, whatever else the machine has.
    environment |= {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    if side == "stratax":
        environment["STRATAX_SIMULATE"] = f"cpu:{devices}"
    else:
        flag = f"--xla_force_host_platform_device_count={devices}"
        # XLA's collectives want a thread for each device.
        environment |= {"XLA_FLAGS": f"{environment.get('XLA_FLAGS', '')} {flag}".strip(), "NPROC": "16"}
    arguments = [sys.executable, "-m", "benchmarks._first_fit", side, model, str(devices)]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"A process that measures failed: {arguments}\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _measured(side: str, name: str, devices: int) -> dict[str, float]:
    import keras
    import numpy as np

    scope: Any = contextlib.nullcontext()
    if side == "stratax":
        import stratax as sx

        scope = sx.distribute.MirroredStrategy().scope()
    elif devices > 1:
        among = keras.distribution.list_devices()
        keras.distribution.set_distribution(
            keras.distribution.DataParallel(devices=among, auto_shard_dataset=False)
        )
    random = np.random.default_rng(0)
    y = random.integers(0, _CLASSES, _BATCH * _STEPS)
    with scope:
        model, x = _made(name, len(y))
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    started, busy = time.perf_counter(), time.process_time()
    model.fit(x[:_BATCH], y[:_BATCH], batch_size=_BATCH, verbose=0)
    took = {"first_s": time.process_time() - busy, "first_wall_s": time.perf_counter() - started}
    steps = []
    for _ in range(2):
        busy = time.process_time()
        model.fit(x, y, batch_size=_BATCH, verbose=0)
        steps.append((time.process_time() - busy) / _STEPS)
    return took | {"step_s": min(steps)}


def _made(name: str, examples: int) -> tuple[Any, Any]:
    import keras
    import numpy as np

    random = np.random.default_rng(0)
    if name == "transformer":
        return _transformer(), random.integers(0, _WORDS, (examples, _LENGTH))
    shape = (*[_PIXELS.get(name, 64)] * 2, 3)
    model = getattr(keras.applications, name)(weights=None, input_shape=shape, classes=_CLASSES)
    return model, random.random((examples, *shape), np.float32)


def _transformer() -> Any:
    from keras import Model, layers

    inputs = layers.Input((_LENGTH,), dtype="int32")
    x = layers.Embedding(_WORDS, 64)(inputs)
    for _ in range(4):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 16)(x, x))
        hidden = layers.Dense(64)(layers.Dense(256, "gelu")(x))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(hidden))
    outputs = layers.Dense(_CLASSES, "softmax")(layers.GlobalAveragePooling1D()(x))
    return Model(inputs, outputs)


if __name__ == "__main__":
    print(json.dumps(_measured(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
