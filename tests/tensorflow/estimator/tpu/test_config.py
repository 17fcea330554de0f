"""Wrong configurations of TPUs."""

import pytest

from stratax import errors
from stratax.tensorflow.estimator import tpu


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iterations_per_loop": 0}, "iterations_per_loop must be a positive integer"),
        ({"iterations_per_loop": "30s"}, "a number of steps, not a time"),
        ({"initial_infeed_sleep_secs": -1}, "initial_infeed_sleep_secs must be a positive integer"),
        ({"eval_training_input_configuration": 3}, "must be InputPipelineConfig.PER_HOST_V1 or SLICED"),
        ({"num_cores_per_replica": 3}, "must be one of .* Received: num_cores_per_replica=3"),
        ({"input_partition_dims": [[1, 2]]}, "needs num_cores_per_replica"),
        ({"input_partition_dims": [[1, 2]], "num_cores_per_replica": 2}, "PER_HOST_V2"),
        ({"input_partition_dims": [[1], [1], [1]], "num_cores_per_replica": 2}, "one or two structures"),
        ({"per_host_input_for_training": tpu.InputPipelineConfig.BROADCAST}, "whole batch for each core"),
    ],
)
def test_wrong_configurations_raise(change, message):
    with pytest.raises(errors.BadArgumentError, match=message):
        tpu.TPUConfig(**change)
