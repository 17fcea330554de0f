"""A step of `strategy.run` inside `stratax.function`."""

import itertools

import jax

from benchmarks import _measure, _models
from benchmarks._hand_written import HandWritten
from benchmarks._with_stratax import CustomLoop

_BATCHES = 100


def against_hand_written(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """A step, against the same in JAX by hand.

    One step per dispatch works on a batch that stays on the devices. Many steps take their batches from arrays on the
    host, in random order, on both sides: here from a `Dataset` with `next(iterator)`, there by indexing and stacking.
    """
    data = _models.make_data(kind, _BATCHES)
    ours, theirs = CustomLoop(kind, steps, data), HandWritten(kind, steps)
    resident = next(theirs.batches(data))
    passes = itertools.chain.from_iterable(theirs.batches(data) for _ in itertools.count())

    def run_ours(count: int) -> None:
        dispatch = ours.dispatch_resident if steps == 1 else ours.dispatch
        for _ in range(count):
            loss = dispatch()
        jax.block_until_ready(loss)

    def run_theirs(count: int) -> None:
        for _ in range(count):
            loss = theirs.dispatch(*(resident if steps == 1 else next(passes)))
        jax.block_until_ready(loss)

    ours_seconds, theirs_seconds = _measure.in_turns(run_ours, run_theirs, plan=plan)
    return _measure.ratio(
        [seconds / steps for seconds in ours_seconds],
        [seconds / steps for seconds in theirs_seconds],
        numerator="stratax",
        denominator="by_hand",
    )


def fused_against_single(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """A step, `steps` in one dispatch, against one step per dispatch; both take batches from a `Dataset`."""
    data = _models.make_data(kind, _BATCHES)
    fused, single = CustomLoop(kind, steps, data), CustomLoop(kind, 1, data)

    def run_fused(count: int) -> None:
        for _ in range(count):
            loss = fused.dispatch()
        jax.block_until_ready(loss)

    def run_single(count: int) -> None:
        for _ in range(count * steps):
            loss = single.dispatch()
        jax.block_until_ready(loss)

    ours, theirs = _measure.in_turns(run_fused, run_single, plan=plan)
    return _measure.ratio(
        [seconds / steps for seconds in ours],
        [seconds / steps for seconds in theirs],
        numerator="fused",
        denominator="single",
    )
