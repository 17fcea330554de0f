"""Write `device_assignments.json`: which cores TensorFlow 2.21 assigns to replicas, of TPUs of several shapes.

Run with an environment that has TensorFlow: ``python make_device_assignments.py``.
"""

import itertools
import json
import pathlib

import numpy as np
from tensorflow.python.tpu.device_assignment import DeviceAssignment, DeviceOrderMode
from tensorflow.python.tpu.topology import Topology

# The shape of the TPU, of a replica, the stride, how many replicas, and the order.
CASES = [
    ((2, 2, 1, 2), None, None, 1, 0),
    ((2, 2, 1, 2), None, None, 8, 0),
    ((2, 2, 1, 2), (1, 1, 1, 2), None, 4, 0),
    ((2, 2, 1, 2), (1, 1, 1, 2), None, 4, 2),
    ((2, 2, 1, 2), (1, 1, 1, 2), None, 3, 0),
    ((2, 2, 1, 2), (2, 1, 1, 1), None, 4, 0),
    ((2, 2, 1, 2), (2, 1, 1, 1), None, 3, 0),
    ((2, 2, 1, 2), (2, 2, 1, 2), None, 1, 0),
    ((4, 4, 1, 2), (2, 2, 1, 1), (2, 1, 1, 1), 5, 0),
    ((4, 4, 1, 2), (2, 2, 1, 2), None, 4, 1),
    ((4, 4, 1, 1), (2, 2, 1, 1), None, 4, 0),
    ((4, 4, 1, 1), (1, 1, 1, 1), None, 16, 0),
    ((4, 4, 1, 1), (4, 1, 1, 1), None, 4, 0),
    ((4, 2, 2, 2), (1, 1, 1, 2), None, 16, 0),
    ((4, 2, 2, 2), (2, 1, 2, 2), None, 4, 0),
    ((3, 2, 1, 2), (1, 1, 1, 2), None, 6, 0),
    ((4, 4, 2, 1), (1, 1, 2, 1), None, 7, 0),
]


def main() -> None:
    """Write the file beside this one."""
    found = []
    for mesh, shape, stride, replicas, order in CASES:
        cores = np.array([list(itertools.product(*map(range, mesh)))], np.int32)
        built = DeviceAssignment.build(
            Topology(mesh_shape=np.array(mesh, np.int32), device_coordinates=cores),
            shape and np.array(shape),
            stride and np.array(stride),
            replicas,
            DeviceOrderMode(order),
        )
        found.append([[mesh, shape, stride, replicas, order], built.core_assignment.tolist()])
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in found)
    (pathlib.Path(__file__).parent / "device_assignments.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
