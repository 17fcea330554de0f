"""Batch sizes and deployments are TensorFlow's."""

import pytest

from stratax import errors
from stratax.tensorflow.estimator import ModeKeys, tpu
from tests.tensorflow.estimator.tpu.test_estimator import estimator, evaluation

P, TRAIN, EVAL = tpu.InputPipelineConfig, ModeKeys.TRAIN, ModeKeys.EVAL


@pytest.mark.parametrize(
    ("pipeline", "evaluation_by", "mode", "batch_size", "deployments"),
    [
        (P.PER_HOST_V1, P.PER_HOST_V1, TRAIN, 16, [(0, 1, 8)]),
        (P.PER_HOST_V2, P.PER_HOST_V1, TRAIN, 2, [(0, 1, 8)]),
        (P.PER_SHARD_V1, P.PER_HOST_V1, TRAIN, 2, [(index, 8, 1) for index in range(8)]),
        (P.PER_SHARD_V1, P.PER_HOST_V1, EVAL, 16, [(0, 1, 8)]),
        (P.PER_HOST_V2, P.PER_HOST_V1, EVAL, 2, [(0, 1, 8)]),
        (P.PER_HOST_V2, P.SLICED, EVAL, 16, [(0, 1, 8)]),
        (P.PER_HOST_V2, P.SLICED, ModeKeys.PREDICT, 16, [(0, 1, 8)]),
    ],
)
def test_batch_sizes_and_deployments_are_tensorflows(
    tmp_path, pipeline, evaluation_by, mode, batch_size, deployments
):
    made = estimator(
        tmp_path, per_host_input_for_training=pipeline, eval_training_input_configuration=evaluation_by
    )
    seen = []

    def input_fn(params):
        context = params["context"]
        assert (context.current_host, context.num_hosts, context.num_of_replicas_per_host) == (0, 1, 8)
        assert params["batch_size"] == batch_size
        seen.append(context.current_input_fn_deployment())
        with pytest.raises(errors.ModelScopeError, match="for a model_fn"):
            _ = context.device_assignment
        return evaluation(params)

    with made._input(made._on_cores(), input_fn, mode):
        pass
    assert seen == [("/task:0/device:CPU:0", *deployment) for deployment in deployments]
    context = tpu.TPUContext(made._on_cores())
    assert context.device_assignment is None
    assert context.device_for_replica(3) == (context.tpu_host_placement_function(0), 3)
    with pytest.raises(errors.ModelScopeError, match="for an input_fn"):
        context.current_input_fn_deployment()
