"""What a `model_fn` takes from the host."""

import numpy as np
import pytest

from stratax import errors
from stratax.tensorflow import v1
from tests.tensorflow.v1.host_steps import HostStep


def test_what_was_not_asked_for_in_the_first_trace_is_refused():
    def body(scope, features):
        if features["x"].shape[0] == 2:
            return scope.features.compute_on_host(lambda batch: {"n": np.zeros(2)}, ["s"], "late")["n"]
        return features["x"]

    step = HostStep(body)
    step({"s": np.array([b"a"], object), "x": np.zeros(1)})
    with pytest.raises(errors.ModelScopeError, match=r"'late' of the host .* Use the same feature columns"):
        step({"s": np.array([b"a", b"b"], object), "x": np.zeros(2)})


def test_without_a_driver_there_is_no_host():
    with v1.ModelScope(v1.ModelState(1), "train").entered() as scope:
        assert scope.features.name_of(v1.HostTensor("s", (2,))) is None
        with pytest.raises(errors.ModelScopeError, match="Nothing is computed on the host"):
            scope.features.compute_on_host(lambda batch: {}, ["s"], "key")
