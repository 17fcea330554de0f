"""An operation takes effect when it is run, once."""

import keras
import numpy as np

from stratax.tensorflow import v1
from tests.tensorflow.v1.steps import Step


def test_what_is_not_run_has_no_effect():
    def body(scope, x):
        v = v1.get_variable("v", (), initializer=keras.initializers.Zeros())
        w = v1.get_variable("w", (), initializer=keras.initializers.Zeros())
        v.assign_add(1.0)
        run = w.assign(5.0)
        scope.run(run)
        return v.value + x

    step = Step(body)
    assert float(step(np.float32(1))) == 1
    assert float(step.state.variables["v"].value) == 0
    assert float(step.state.variables["w"].value) == 5


def test_operations_run_once_in_the_order_of_the_program():
    def body(scope, x):
        v = v1.get_variable("v", (), initializer=keras.initializers.Ones())
        double = v1.assign(v, x)
        add = v.assign_add(1.0)
        scope.run([add, v1.group(add, double), double])
        return v.value

    assert float(Step(body)(np.float32(5))) == 6
