"""Collectives are told with the variables that they are for, by scopes and sizes."""

import jax
import keras
import numpy as np
import pytest

from stratax.command.rehearsal import Collective, name_variables
from stratax.core.regions import MadeProgram


@pytest.fixture(scope="module")
def made():
    layers = [keras.layers.Dense(4, name="up"), keras.layers.Dense(4, name="down")]
    model = keras.Sequential([keras.Input((4,)), *layers, keras.layers.Dense(3, name="top")], name="model")
    variables = model.trainable_variables
    specs = [jax.ShapeDtypeStruct(each.shape, np.dtype("float32")) for each in variables]
    return MadeProgram(name="step", compiled=None, donated=(0,), arguments=(specs,), variables={0: variables})


@pytest.mark.parametrize(
    ("elements", "operation", "variable"),
    [
        (16, "jit(step)/shard_map/jvp(model)/up/kernel/all_gather", "model/up/kernel"),
        (16, "jit(step)/transpose(jvp(model))/down/dot_general", "model/down/kernel"),
        # The only one of its size.
        (12, "", "model/top/kernel"),
        (16, "jit(step)/add", ""),
        # Of several arrays, and of none of the variables.
        (0, "jit(step)/model/up/add", ""),
        (17, "jit(step)/model/up/add", ""),
    ],
)
def test_a_variable_is_found_by_scope_and_size(made, elements, operation, variable):
    one = Collective(kind="all-gather", bytes=64, group=8, times=1, elements=elements, operation=operation)
    assert [each.variable for each in name_variables([one], made)] == [variable]
