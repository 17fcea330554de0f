"""`Model.fit` under a strategy."""

import jax
import keras

import stratax as sx
from benchmarks import _measure, _models
from benchmarks._hand_written import HandWritten
from benchmarks._with_stratax import compiled_model

_BATCHES = 100


def against_hand_written(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """A step of `fit`, against a loop by hand over the same arrays with the same metrics; input counts."""
    data = _models.make_data(kind, _BATCHES)
    with sx.distribute.MirroredStrategy().scope():
        model = compiled_model(kind, steps)
    theirs = HandWritten(kind, steps)

    def run_ours(epochs: int) -> None:
        model.fit(data.x, data.y, batch_size=_models.BATCH, epochs=epochs, verbose=0)

    def run_theirs(epochs: int) -> None:
        for _ in range(epochs):
            theirs.reset_metrics()
            for batch in theirs.batches(data):
                theirs.dispatch(*batch)
            theirs.results()

    ours_seconds, theirs_seconds = _measure.in_turns(run_ours, run_theirs, plan=plan)
    return _measure.ratio(
        [seconds / _BATCHES for seconds in ours_seconds],
        [seconds / _BATCHES for seconds in theirs_seconds],
        numerator="stratax",
        denominator="by_hand",
    )


def against_data_parallel(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """How many times as fast `fit` is as Keras' own with `keras.distribution.DataParallel`."""
    data = _models.make_data(kind, _BATCHES)
    with sx.distribute.MirroredStrategy().scope():
        ours = compiled_model(kind, steps)
    # Keras' auto-sharding of batches is for several processes; here there is one.
    parallel = keras.distribution.DataParallel(
        devices=keras.distribution.list_devices(), auto_shard_dataset=False
    )
    keras.distribution.set_distribution(parallel)
    theirs = compiled_model(kind, steps)
    keras.distribution.set_distribution(None)

    def run_ours(epochs: int) -> None:
        ours.fit(data.x, data.y, batch_size=_models.BATCH, epochs=epochs, verbose=0)
        jax.block_until_ready([variable.value for variable in ours.trainable_variables])

    def run_theirs(epochs: int) -> None:
        keras.distribution.set_distribution(parallel)
        try:
            theirs.fit(data.x, data.y, batch_size=_models.BATCH, epochs=epochs, verbose=0)
        finally:
            keras.distribution.set_distribution(None)
        jax.block_until_ready([variable.value for variable in theirs.trainable_variables])

    ours_seconds, theirs_seconds = _measure.in_turns(run_ours, run_theirs, plan=plan)
    return _measure.ratio(
        [seconds / _BATCHES for seconds in theirs_seconds],
        [seconds / _BATCHES for seconds in ours_seconds],
        numerator="data_parallel",
        denominator="stratax",
    )
