"""Feeding has no meaning here, and says so."""

import pytest

from stratax.tensorflow.estimator import FeedFnHook, FinalOpsHook


def test_feeding_is_refused_with_a_reason():
    with pytest.raises(
        ValueError, match="FeedFnHook is not supported: a step is compiled.*Have input_fn return"
    ):
        FeedFnHook(dict)
    with pytest.raises(ValueError, match="final_ops_feed_dict is not supported"):
        FinalOpsHook("v", {"x": 1})
