"""An update of variables on servers is traced once, with what it reads and writes."""

import jax
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.core import jaxprs
from stratax.parameter_servers.remote import _updates

GRADIENT = jax.ShapeDtypeStruct((2,), "float32")


def test_an_update_knows_what_it_reads_and_writes_and_gives_the_new_values():
    weights, rate = sx.Variable(np.float32([1, 2])), sx.Variable(0.5)
    update = _updates.update_of(lambda given: weights.assign_sub(rate * given[0]), [GRADIENT])
    assert update.written == [weights]
    assert {id(variable) for variable in update.needed} == {id(weights), id(rate)}
    values = [variable.value for variable in update.needed]
    sent = update.prepare(np.float32([2, 4]))
    (found,) = jaxprs.evaluate(update.closed, [*values, *sent])
    assert np.asarray(found).tolist() == [0, 0]


def test_an_update_that_calls_python_is_refused():
    variable = sx.Variable(np.float32([1, 2]))

    def printed(given):
        sx.print(given[0])
        variable.assign(given[0])

    with pytest.raises(errors.TracingError, match="can't call Python there"):
        _updates.update_of(printed, [GRADIENT])
