"""The line that a training run begins with."""

import keras
import pytest
from keras import layers

import stratax as sx

ARRAYS = (
    "MirroredStrategy: 4 replicas, global batch 16 = 4 x 4, 4 steps per epoch, last batch 2 (does not divide: \
computed whole on every replica, counted once)"
)
DATASET = "MirroredStrategy: 4 replicas, global batch 12 = 4 x 3, 5 steps per epoch, 2 steps per dispatch"
ENDLESS = (
    "MirroredStrategy: 4 replicas, global batch 10 (does not divide: computed whole on every replica, counted \
once), 3 steps per epoch"
)


@pytest.fixture(scope="module")
def compiled():
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(4)])

    def compiled(steps_per_execution=1):
        with strategy.scope():
            model = keras.Sequential([layers.Dense(1)])
            model.compile("sgd", "mse", steps_per_execution=steps_per_execution)
        return model

    return compiled


def test_the_plan_of_arrays(compiled, data, capsys):
    compiled().fit(*data, batch_size=16, verbose=2)
    assert capsys.readouterr().out.splitlines()[0] == ARRAYS


def test_the_plan_of_a_dataset_with_several_steps_per_dispatch(compiled, data, capsys):
    compiled(2).fit(sx.data.Dataset.from_tensor_slices(data).batch(12), verbose=2)
    # How large the last batch of a dataset is only reading it tells.
    assert capsys.readouterr().out.splitlines()[0] == DATASET


def test_the_plan_of_an_endless_dataset_whose_batches_do_not_divide(compiled, data, capsys):
    dataset = sx.data.Dataset.from_tensor_slices(data).batch(10, drop_remainder=True).repeat()
    compiled().fit(dataset, steps_per_epoch=3, verbose=2)
    assert capsys.readouterr().out.splitlines()[0] == ENDLESS


def test_a_generator_has_an_unknown_number_of_steps(compiled, data, capsys):
    x, y = data
    compiled().fit(((x[i : i + 8], y[i : i + 8]) for i in range(0, 16, 8)), verbose=2)
    expected = "MirroredStrategy: 4 replicas, global batch 8 = 4 x 2, steps per epoch unknown"
    assert capsys.readouterr().out.splitlines()[0] == expected


def test_a_silent_run_prints_nothing(compiled, data, capsys):
    compiled().fit(*data, batch_size=16, verbose=0)
    assert capsys.readouterr().out == ""
