"""A TPUEstimator on two workers of four cores is one on one device, however its input is divided."""

import numpy as np
import pytest

from stratax.tensorflow.estimator.tpu import InputPipelineConfig
from tests.cluster.processes import run_tasks
from tests.tensorflow.estimator.tpu_model import trained

PROGRAM = """
import sys
import numpy as np
import stratax as sx
from tests.tensorflow.estimator.tpu_model import trained

options = sx.distribute.CommunicationOptions(timeout_seconds=60.0)
strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
for pipeline in sys.argv[2:]:
    found, kernel = trained(f"{sys.argv[1]}/{pipeline}", int(pipeline), strategy)
    report(**{pipeline: {key: float(value) for key, value in found.items()}, f"{pipeline}k": kernel.tolist()})
"""
# Each core, each host, and each host for one core has a call of `input_fn`.
PIPELINES = (
    InputPipelineConfig.PER_SHARD_V1,
    InputPipelineConfig.PER_HOST_V1,
    InputPipelineConfig.PER_HOST_V2,
)


@pytest.mark.programs
@pytest.mark.processes
def test_two_workers_with_four_cores_are_one_device(tmp_path):
    wanted, kernel = trained(tmp_path / "one", InputPipelineConfig.PER_HOST_V1)
    results = run_tasks(2, PROGRAM, str(tmp_path), *map(str, map(int, PIPELINES)), devices=4)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    for result in results:
        for pipeline in map(str, map(int, PIPELINES)):
            found = result.report[pipeline]
            assert found["global_step"] == wanted["global_step"] == 4
            np.testing.assert_allclose(result.report[f"{pipeline}k"], kernel, rtol=1e-5, err_msg=pipeline)
            for key, value in wanted.items():
                np.testing.assert_allclose(found[key], value, rtol=1e-5, err_msg=f"{pipeline} {key}")
