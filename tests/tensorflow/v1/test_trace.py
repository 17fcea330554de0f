"""Functions that add to a graph need a trace."""

import pytest

from stratax import errors
from stratax.tensorflow import v1


def test_outside_of_a_model_fn_an_error_says_so():
    assert v1.current_or_none() is None
    with pytest.raises(errors.ModelScopeError, match="inside of a `model_fn`"):
        v1.get_variable("v", ())


@pytest.mark.parametrize("ask", [lambda: v1.VariableScope("a").global_variables(), v1.current])
def test_what_asks_for_a_trace_outside_of_one_raises_the_same_error(ask):
    with pytest.raises(errors.ModelScopeError, match="inside of a `model_fn`"):
        ask()
