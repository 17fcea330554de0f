"""Cores of a TPU are assigned to replicas as TensorFlow assigns them."""

import itertools
import json
import pathlib

import numpy as np
import pytest

from stratax import errors
from stratax.cluster import DeviceAssignment, DeviceOrderMode, Topology

# Written by tests/golden/make_device_assignments.py with TensorFlow 2.21.
GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "device_assignments.json").read_text())


def topology_of(*mesh, per_task=8, count=None):
    cores = tuple(itertools.product(*map(range, mesh)))[:count]
    names = tuple(
        f"/job:worker/replica:0/task:{number // per_task}/device:TPU:{number % per_task}"
        for number in range(len(cores))
    )
    return Topology(mesh_shape=mesh, device_coordinates=cores, device_names=names)


@pytest.mark.parametrize(("case", "expected"), GOLDEN, ids=lambda each: str(each)[:40])
def test_replicas_have_the_cores_that_tensorflow_gives_them(case, expected):
    mesh, shape, stride, replicas, order = case
    built = DeviceAssignment.build(topology_of(*mesh), shape, stride, replicas, DeviceOrderMode(order))
    np.testing.assert_array_equal(built.core_assignment, expected)
    assert (built.num_replicas, built.num_cores_per_replica) == np.shape(expected)[:2]


def test_a_core_has_names_and_numbers():
    topology = topology_of(2, 2, 2, 2)
    built = DeviceAssignment.build(topology, [1, 1, 1, 2], num_replicas=8)
    assert built.topology is topology
    assert built.coordinates(0, 1) == (0, 0, 0, 1)
    assert built.tpu_device(0, 1) == "/job:worker/replica:0/task:0/device:TPU:1"
    place = next(
        (replica, core)
        for replica in range(8)
        for core in range(2)
        if built.device_index(replica, core) == 13
    )
    assert built.tpu_device(*place, job="tpu") == "/job:tpu/replica:0/task:1/device:TPU:5"
    assert built.host_device(*place) == "/job:worker/replica:0/task:1/device:CPU:0"
    assert built.tpu_ordinal(*place) == 5
    assert sorted(built.lookup_replicas(0, 0) + built.lookup_replicas(1, 0)) == list(range(8))
    with pytest.raises(errors.BadArgumentError, match="No replica.*task_id=2"):
        built.lookup_replicas(2, 0)


def test_a_tpu_with_missing_cores_is_assigned_in_order():
    topology = topology_of(2, 2, 1, 2, count=6)
    built = DeviceAssignment.build(topology, [1, 1, 1, 2], num_replicas=3)
    assert [built.device_index(replica, core) for replica in range(3) for core in range(2)] == list(range(6))
    with pytest.raises(errors.BadArgumentError, match="has 6 cores.*num_replicas=4"):
        DeviceAssignment.build(topology, [1, 1, 1, 2], num_replicas=4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: DeviceAssignment.build("v3-8"), errors.BadTypeError, "topology='v3-8'"),
        (lambda t: DeviceAssignment.build(t, [2, 2]), errors.BadArgumentError, "4 positive whole numbers"),
        (
            lambda t: DeviceAssignment.build(t, [0, 1, 1, 1]),
            errors.BadArgumentError,
            r"Received: computation_shape=\[0",
        ),
        (
            lambda t: DeviceAssignment.build(t, None, [1, 1, 1, 0.5]),
            errors.BadArgumentError,
            "Received: computation_stride=",
        ),
        (lambda t: DeviceAssignment.build(t, num_replicas=9), errors.BadArgumentError, "1 to 8 replicas.*=9"),
        (lambda t: DeviceAssignment.build(t, [4, 1, 1, 1]), errors.BadArgumentError, "1 to 0 replicas"),
        (
            lambda t: DeviceAssignment.build(t, [2, 1, 1, 1], None, 2, DeviceOrderMode.RING),
            errors.BadArgumentError,
            "taken in rings where",
        ),
        (lambda t: DeviceAssignment(t, [[0, 0, 0, 0]]), errors.BadArgumentError, r"shape \(1, 4\)"),
        (lambda t: DeviceAssignment(t, [[[0, 0, 0, 0]] * 2]), errors.BadArgumentError, "each once"),
        (lambda t: DeviceAssignment(t, [[[0, 0, 3, 0]]]), errors.BadArgumentError, r"\(0, 0, 3, 0\)"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        call(topology_of(2, 2, 1, 2))
