"""A plan that makes what is too large, or no size, is refused while it runs."""

import numpy as np
import pytest

from stratax.base import bounds
from stratax.errors import BadArgumentError, StrataxError
from stratax.export import TensorInfo
from stratax.tensorflow.exports._host_plan import RANDOM, Call, RuntimeValue
from stratax.tensorflow.exports._run_plan import run
from stratax.tensorflow.exports.host import CallPlan
from tests.tensorflow.exports.test_host_sizes import CALLS, of


@pytest.mark.parametrize(
    ("name", "args"),
    [
        *((name, args) for name, args, _ in CALLS),
        ("math.add", (of(20, 1), of(20))),
        ("concat", ([of(40), of(40)], 0)),
        ("strings.ngrams", (np.array([b"a"] * 20, object), [1, 2, 3])),
        (RANDOM, ([400],)),
    ],
)
def test_what_is_too_large_is_refused(name, args, monkeypatch):
    monkeypatch.setattr(bounds, "most_bytes", lambda: 30)
    plan = CallPlan((Call(name, args, {}, RuntimeValue("y")),), {}, {})
    with pytest.raises(BadArgumentError, match=f"tf.{name} would make an array that is too large"):
        run(plan, {})


@pytest.mark.parametrize("name", ["fill", "gather", "linalg.matmul", "pad", "tile", "image.resize"])
@pytest.mark.parametrize("value", ["a", None, [[-1]], 1e300, [], [None]])
def test_what_is_no_size_is_told_by_the_function(name, value):
    plan = CallPlan(
        (Call(name, (of(2, 2, 2), value), {}, RuntimeValue("y")),),
        {"y": "y"},
        {"y": TensorInfo("int32", (1,))},
    )
    with pytest.raises(StrataxError):
        run(plan, {})
