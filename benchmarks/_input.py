"""The input pipeline."""

import numpy as np

import stratax as sx
from benchmarks import _measure

_ELEMENTS = 60_000
_BATCH = 200


def shuffled_batches(plan: _measure.Plan) -> _measure.Figure:
    """Microseconds an element of images that are shuffled, scaled and batched, and of a bare gather beside it."""
    images = np.random.default_rng(0).random((_ELEMENTS, 28, 28), np.float32)
    dataset = sx.Dataset.from_tensor_slices(images).shuffle(_ELEMENTS).map(_scale).batch(_BATCH)

    def run_dataset(passes: int) -> None:
        for _ in range(passes):
            for batch in dataset:
                last = batch
        np.asarray(last)

    def run_gather(passes: int) -> None:
        for _ in range(passes):
            order = np.random.default_rng(0).permutation(_ELEMENTS)
            for start in range(0, _ELEMENTS, _BATCH):
                images[order[start : start + _BATCH]]

    ours, gather = _measure.in_turns(run_dataset, run_gather, plan=plan)
    per_element = [seconds / _ELEMENTS * 1e6 for seconds in ours]
    base = _measure.spread([seconds / _ELEMENTS * 1e6 for seconds in gather]).value
    return _measure.spread(per_element, {"gather_us": base})


def _scale(image: np.ndarray) -> np.ndarray:
    return image / 255.0
