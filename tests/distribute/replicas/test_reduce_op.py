"""A reduction is given as a member or by its name."""

import pytest

from stratax.distribute.replicas import ReduceOp, as_reduce_op
from stratax.errors import BadArgumentError


@pytest.mark.parametrize("given", [ReduceOp.MEAN, "mean", "MEAN"])
def test_a_reduce_op_can_be_given_by_name(given):
    assert as_reduce_op(given) is ReduceOp.MEAN


@pytest.mark.parametrize("given", ["max", None, 1])
def test_an_unknown_reduce_op_is_refused(given):
    with pytest.raises(BadArgumentError, match=r"ReduceOp\.SUM or ReduceOp\.MEAN.*reduce_op="):
        as_reduce_op(given)
