"""One call of `Estimator.predict`: the predictions for each example (estimator layer)."""

import collections
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.distribute import Strategy
from stratax.distribute.replicas import is_per_replica
from stratax.engine import StepInput, StepLoop, StepProgram
from stratax.tensorflow.estimator._model import FETCHED, EstimatorModel, Key
from stratax.tensorflow.estimator._session import HookSession, SessionHooks
from stratax.tensorflow.estimator.hooks import SessionRunHook
from stratax.tensorflow.v1 import ModelScope, values_after_step

_ROWS = "rows"


def predictions(
    model: EstimatorModel,
    strategy: Strategy,
    given: StepInput,
    hooks: Sequence[SessionRunHook],
    *,
    single: bool,
    replicas: int = 1,
    model_dir: str = "",
) -> Iterator[Any]:
    """Give the predictions of a model, batch by batch or example by example.

    Args:
        model: The model, built, with its variables' values.
        strategy: The strategy.
        given: The input.
        hooks: The session hooks of the caller.
        single: Whether to give each example by itself.
        replicas: How many batches a step has: one for each replica, or one.
        model_dir: The folder of the model.

    Yields:
        Predictions, as NumPy arrays.
    """
    chosen = _choose(model.spec.predictions, model.predict_keys)

    def find_asked(spec: Any) -> Any:
        found = spec.predictions
        # In the model's order, which JAX keeps of this kind of dict alone.
        return found if chosen is None else collections.OrderedDict((key, found[key]) for key in chosen)

    def make_program(fetched: frozenset[Key]) -> StepProgram:
        def outputs(scope: ModelScope, spec: object) -> dict[str, Any]:
            rows = [jnp.asarray(tensor) for tensor in jax.tree.leaves(find_asked(spec))]
            return {_ROWS: rows, FETCHED: model.fetch(scope, fetched, rows)}

        return model.program(outputs, of_first=(FETCHED,), name="predict")

    # Of the model that was built, whose strings are made by the same functions: so programs return arrays alone.
    tensors, treedef = jax.tree.flatten(find_asked(model.spec))
    # One number of a batch, whatever its examples; known here, as several become an array.
    scalars = [jnp.ndim(tensor) == 0 for tensor in tensors]
    session = HookSession(model, model_dir, strategy.extended.membership.is_chief)
    joints = SessionHooks(model, [*hooks, *model.spec.prediction_hooks], session, make_program=make_program)
    joints.begin_hooks()
    is_divided = False

    def program(steps: int, element: object) -> Any:
        nonlocal is_divided
        is_divided = _is_divided(element)
        return joints.program(steps, element)

    loop = StepLoop(strategy, program, hooks=[joints])
    step = loop.step = model.global_step()
    iterator = given.open()
    # Without hooks, which would be a batch ahead of what they print or write about, one dispatch is on its way while
    # the predictions of the one before are used.
    runs_ahead = not joints.has_hooks
    ahead: tuple[list[Any], int] | None = None
    try:
        joints.begin(loop)
        while not joints.is_stop_asked and iterator.available(1):
            made = loop.dispatch(iterator)[_ROWS]
            # Batches of predictions are no steps of training.
            loop.step = step
            before, ahead = ahead, (made, replicas if is_divided else 1)
            if not runs_ahead:
                before, ahead = ahead, None
            if before is not None:
                for rows in _give(*before, scalars, treedef, single=single):
                    yield from rows
        if not joints.is_stop_asked:
            joints.end_of_pass(loop)
        if ahead is not None:
            for rows in _give(*ahead, scalars, treedef, single=single):
                yield from rows
    except BaseException as error:
        joints.on_error(loop, error)
        raise
    joints.end(loop)


def _is_divided(element: object) -> bool:
    """Return whether each replica has a part of a step; else one has the whole."""
    leaves = jax.tree.leaves(element, is_leaf=is_per_replica)
    return any(is_per_replica(leaf) and not leaf.solo for leaf in leaves)


def _give(
    made: list[Any], batches: int, scalars: list[bool], treedef: object, *, single: bool
) -> Iterator[Iterable[Any]]:
    """Give what is yielded of each of a step's batches."""
    arrays = [np.asarray(array) for array in made]
    for batch in range(batches):
        own = [
            array
            if batches == 1
            else array[batch]
            if is_scalar
            else array[batch * len(array) // batches : (batch + 1) * len(array) // batches]
            for array, is_scalar in zip(arrays, scalars, strict=True)
        ]
        yield _of_batch(values_after_step(jax.tree.unflatten(treedef, own)), single=single)


def _of_batch(arrays: Any, *, single: bool) -> Iterable[Any]:
    if not single:
        return (dict(arrays) if isinstance(arrays, dict) else arrays,)
    leaves = jax.tree.leaves(arrays)
    if len({leaf.shape[0] if leaf.shape else None for leaf in leaves}) != 1:
        raise errors.BadArgumentError(
            "Predictions must have one row for each example. Expected: the same first dimension in all. Received: "
            f"shapes {', '.join(str(leaf.shape) for leaf in leaves)}. Pass yield_single_examples=False to get whole "
            "batches."
        )
    # Once for each example: a tree's functions would take longer than the model of it.
    if isinstance(arrays, dict):
        names = tuple(arrays)
        return (dict(zip(names, row, strict=True)) for row in zip(*arrays.values(), strict=True))
    rows: Iterable[Any] = arrays
    return rows


def as_keys(keys: str | Sequence[str] | None) -> list[str] | None:
    """Return the keys of predictions that a caller has asked for; None for all."""
    return None if not keys else [keys] if isinstance(keys, str) else list(keys)


def _choose(predicted: object, keys: Collection[str] | None) -> list[str] | None:
    if not isinstance(predicted, dict):
        if keys:
            raise errors.BadArgumentError(
                "predict_keys argument is not valid in case of non-dict predictions. "
                f"Received: predict_keys={shown(keys)}."
            )
        return None
    wanted = list(predicted if keys is None else keys)
    found = [key for key in predicted if key in wanted]
    if not found:
        raise errors.BadArgumentError(
            f"Expected to run at least one output from {list(predicted)}, provided {wanted}."
        )
    return found
