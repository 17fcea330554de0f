"""`rejection_resample`: with which probability elements of each class are taken (data layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import element_uniform
from stratax.errors import BadArgumentError

# How many elements of each class count as seen before the first: TensorFlow's number.
_SMOOTHING = 10


def resample(
    dataset: Any, class_func: Callable[..., Any], target_dist: object, initial_dist: Any, seed: int | None
) -> Any:
    """Return what `Dataset.rejection_resample` does.

    Elements are either taken as they come, with the smallest ratio of a class's wanted share to the share it has, or
    from those that are accepted by class.
    """
    target = np.asarray(target_dist, np.float32)
    _check("target_dist", target, target)

    def label(*element: object) -> Any:
        return class_func(*element), element if len(element) > 1 else element[0]

    original = dataset.map(label)
    if initial_dist is None:
        return _estimate_shares(dataset, original, target, seed)
    initial = np.asarray(initial_dist, np.float32)
    _check("initial_dist", initial, target)
    accepted, share = _acceptance(initial, target)
    if share >= 1:
        return original
    kept = original.filter(lambda label, element: element_uniform((), seed) < accepted[int(label)])
    if share <= 0:
        return kept
    return dataset.sample_from_datasets(
        [original, kept], [share, 1 - share], seed, stop_on_empty_dataset=True
    )


def _estimate_shares(dataset: Any, original: Any, target: np.ndarray, seed: int | None) -> Any:
    """Resample by the shares of classes among the elements so far."""
    seen = np.full(len(target), _SMOOTHING, np.int64)

    def count(seen: np.ndarray, labelled: tuple[Any, Any]) -> tuple[Any, Any]:
        label, element = labelled
        seen = np.array(seen)
        seen[int(label)] += 1
        accepted, share = _acceptance(seen / seen.sum(), target)
        return seen, (label, element, accepted[int(label)], np.array([share, 1 - share], np.float32))

    counted = original.scan(seen, count)
    kept = counted.filter(lambda label, element, accepted, shares: element_uniform((), seed) < accepted)
    parts = [original, kept.map(lambda label, element, accepted, shares: (label, element))]
    weights = counted.map(lambda label, element, accepted, shares: shares)
    return dataset.sample_from_datasets(parts, weights, seed, stop_on_empty_dataset=True)


def _acceptance(initial: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float]:
    """Return with which probability an element of each class is accepted, and how many are taken as they come."""
    ratios = target / np.maximum(initial, np.finfo(np.float32).tiny)
    least, most = float(ratios.min()), float(ratios.max())
    # Equal shares: all are taken as they come.
    accepted = (ratios - least) / (most - least) if most > least else np.ones_like(ratios)
    return accepted.astype(np.float32), min(least, 1.0)


def _check(name: str, shares: np.ndarray, target: np.ndarray) -> None:
    if shares.ndim != 1 or shares.shape != target.shape or (shares < 0).any():
        raise BadArgumentError(
            "rejection_resample needs the share of each class, numbers of at least 0. "
            f"Expected: {len(np.atleast_1d(target))} of them. Received: {name}={shown(shares)}."
        )
