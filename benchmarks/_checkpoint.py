"""How long a training loop stands still while a checkpoint is saved."""

import dataclasses
import statistics
import tempfile
import time

import numpy as np

import stratax as sx
from benchmarks import _measure

_ARRAYS = 25
_ELEMENTS = 1_000_000
_FEWEST = 5


def pause(plan: _measure.Plan) -> _measure.Figure:
    """The part of a synchronous save's time for which an asynchronous one stops the loop; 100 MB in 25 arrays.

    Args:
        plan: How long to measure.

    Returns:
        The figure, with the seconds of both.
    """
    rng = np.random.default_rng(0)
    state = [sx.Variable(rng.normal(size=_ELEMENTS).astype("float32")) for _ in range(_ARRAYS)]
    step = sx.function(lambda: [variable.assign_add(1.0) for variable in state] and None)
    checkpoint = sx.train.Checkpoint(state=state)
    behind, waiting = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(max(_FEWEST, plan.rounds // 2)):
            for enable_async, seconds in ((True, behind), (False, waiting)):
                step()
                np.asarray(state[-1])
                seconds.append(_save(checkpoint, folder, enable_async=enable_async))
                checkpoint.sync()
    figure = _measure.spread([a / s for a, s in zip(behind[1:], waiting[1:], strict=True)], {})
    details = {
        "asynchronous_s": statistics.median(behind[1:]),
        "synchronous_s": statistics.median(waiting[1:]),
    }
    return dataclasses.replace(figure, details=details)


def _save(checkpoint: sx.train.Checkpoint, folder: str, *, enable_async: bool) -> float:
    options = sx.train.CheckpointOptions(enable_async=enable_async)
    began = time.perf_counter()
    checkpoint.write(f"{folder}/ckpt", options)
    return time.perf_counter() - began
