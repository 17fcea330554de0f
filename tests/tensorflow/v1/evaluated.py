"""What an Estimator's evaluation makes of metrics, for their tests."""

import numpy as np

import stratax as sx
from stratax.tensorflow import v1


def evaluated(made, batches, strategy=None):
    """The pairs of a body behind all batches, whose parts the replicas of a strategy take."""
    state, pairs = v1.ModelState(1), []

    def step(batch):
        with v1.ModelScope(state, "eval").entered(batch) as scope:
            pairs.append(made(batch))
            scope.run([update for _, update in pairs[-1].values()])

    if strategy is None:
        program = sx.function(step, autograph=False)
        for batch in batches:
            program(batch)
    else:
        with strategy.scope():
            program = sx.function(lambda batch: strategy.run(step, (batch,)), autograph=False)
            rows = np.concatenate(batches)
            dataset = sx.data.Dataset.from_tensor_slices(rows).batch(len(batches[0]))
            for batch in strategy.experimental_distribute_dataset(dataset):
                program(batch)
    return {key: np.asarray(value.result()) for key, (value, _) in pairs[-1].items()}, state
