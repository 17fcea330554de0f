"""`TPUStrategy` on simulated cores, in processes of their own (a process has one kind of device)."""

import os

import pytest

from tests.cluster import forks

PROGRAM = r"""
import numpy as np
import pytest
import stratax as sx
from stratax import errors

resolver = sx.distribute.TPUClusterResolver(tpu="")
strategy = sx.distribute.TPUStrategy(resolver)
assert strategy.cluster_resolver is resolver
assert strategy.num_replicas_in_sync == 4
assert strategy.device_names[3] == "/job:worker/replica:0/task:0/device:TPU:3", strategy.device_names
assert isinstance(sx.detect_strategy(), sx.distribute.TPUStrategy)
assert sx.distribute.MirroredStrategy(["/TPU:1", "/TPU:2"]).num_replicas_in_sync == 2

cores = list(strategy.devices)
half = sx.distribute.TPUStrategy(experimental_device_assignment=cores[2:])
value = half.experimental_distribute_values_from_function(lambda c: np.float32(c.replica_id_in_sync_group))
assert float(half.reduce("sum", half.run(lambda x: x + 1, args=(value,)), axis=None)) == 3
assert [c.devices() for c in value.values] == [{core} for core in cores[2:]]
for wrong in ([], ["TPU:9"]):
    with pytest.raises(errors.DeviceError, match="list cores of this TPU"):
        sx.distribute.TPUStrategy(experimental_device_assignment=wrong)

topology = sx.tpu.initialize_tpu_system(resolver)
pairs = sx.tpu.DeviceAssignment.build(topology, [1, 1, 1, 2], num_replicas=2)
paired = sx.distribute.TPUStrategy(resolver, experimental_device_assignment=pairs)
assert paired.num_replicas_in_sync == 2
assert [[core.id for core in each] for each in paired.mesh.devices.reshape(2, 2)] == [[0, 1], [2, 3]]
with paired.scope():
    w = sx.Variable(np.arange(12.0, dtype="float32").reshape(4, 3))

@sx.function
def step(x):
    def replica(x):
        x = paired.experimental_split_to_logical_devices(x, [1, 2])
        return paired.experimental_assign_to_logical_device(x @ w, 1)
    return paired.reduce("sum", paired.run(replica, args=(x,)), axis=None)

x = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")
(batch,) = paired.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(x).batch(6))
np.testing.assert_allclose(step(batch), (x[:3] + x[3:]) @ w.numpy(), rtol=1e-5)
assert w.value.sharding.is_fully_replicated and len(w.value.devices()) == 4
with pytest.raises(errors.BadArgumentError, match="from 0 to 1. Received: logical_device_id=2"):
    paired.experimental_assign_to_logical_device(x, 2)
other = sx.tpu.DeviceAssignment(
    sx.cluster.Topology(mesh_shape=(1, 1, 1, 1), device_coordinates=((0, 0, 0, 0),), device_names=("/device:TPU:9",)),
    [[[0, 0, 0, 0]]],
)
with pytest.raises(errors.DeviceError, match="cores of another TPU"):
    sx.distribute.TPUStrategy(resolver, experimental_device_assignment=other)

assert strategy.extended.worker_devices == strategy.extended.parameter_devices == strategy.device_names
image = np.zeros((4, 8), np.float32)
assert strategy.experimental_split_to_logical_devices(image, [1, 1]) is image
assert strategy.experimental_replicate_to_logical_devices(image) is image
assert strategy.experimental_assign_to_logical_device(image, 0) is image
with pytest.raises(errors.BadArgumentError, match=r"Expected: 1. Received: partition_dimensions=\[1, 2\]"):
    strategy.experimental_split_to_logical_devices(image, [1, 2])
with pytest.raises(errors.BadArgumentError, match="for each dimension"):
    strategy.experimental_split_to_logical_devices(image, [1])
with pytest.raises(errors.BadArgumentError, match="Received: logical_device_id=1"):
    strategy.experimental_assign_to_logical_device(image, 1)
assert float(half.extended.reduce_to("sum", value, value)) == 1

central = sx.distribute.CentralStorageStrategy()
assert central.num_replicas_in_sync == 4
print("all is well")
"""


def run(*command):
    environment = os.environ | {"STRATAX_SIMULATE": "tpu:4"}
    return forks.run(command, environment)


@pytest.mark.programs
@pytest.mark.processes
def test_a_process_with_tpu_cores_gives_one_devices_numbers():
    result = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/distribute/test_conformance.py")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "4 passed" in result.stdout


@pytest.mark.processes
def test_a_process_with_tpu_cores_has_strategies_on_them():
    result = run("-c", PROGRAM)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "all is well" in result.stdout
