"""A Python generator that reads local files feeds every strategy: input runs in the process that owns the devices."""

import json
import os

import pytest

from tests.cluster import forks

PROGRAM = """
import json, sys
import numpy as np
import stratax as sx

def numbers():
    with open(sys.argv[1]) as lines:
        for line in lines:
            yield np.float32(line)

def strategies():
    yield sx.distribute.OneDeviceStrategy("/cpu:0" if kind == "CPU" else f"/{kind}:0")
    yield sx.distribute.MirroredStrategy()
    if kind == "TPU":
        yield sx.distribute.TPUStrategy(sx.distribute.TPUClusterResolver(tpu=""))

kind = sx.cluster.simulated_kind()
spec = sx.data.TensorSpec([], np.float32)
dataset = sx.data.Dataset.from_generator(numbers, output_signature=spec).map(lambda x: 2 * x).batch(4)
found = []
for strategy in strategies():
    batches = strategy.experimental_distribute_dataset(dataset)
    parts = [strategy.run(lambda x: x.sum(), args=(batch,)) for batch in batches]
    sums = [float(strategy.reduce("sum", part, axis=None)) for part in parts]
    found.append([type(strategy).__name__, sums])
print(json.dumps(found))
"""


@pytest.mark.processes
@pytest.mark.parametrize("kind", ["cpu", "gpu", "tpu"])
def test_one_generator_feeds_the_strategies_of_every_kind_of_device(kind, tmp_path):
    path = tmp_path / "numbers.txt"
    path.write_text("\n".join(map(str, range(10))))
    environment = os.environ | {"STRATAX_SIMULATE": f"{kind}:2"}
    done = forks.run(["-c", PROGRAM, path], environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    names = ["OneDeviceStrategy", "MirroredStrategy", *(["TPUStrategy"] if kind == "tpu" else [])]
    assert found == [[name, [12.0, 44.0, 34.0]] for name in names]
