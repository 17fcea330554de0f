"""What workers agree on when they begin (in real processes)."""

import numpy as np
import pytest

from tests.cluster.processes import run_tasks

pytestmark = pytest.mark.processes

VARIABLES = """
import numpy as np
import stratax as sx
from stratax.distribute.strategies import _workers
_workers._BYTES_AT_ONCE = 32  # So that there are several transfers.
strategy = sx.distribute.MultiWorkerMirroredStrategy()
worker = strategy.cluster_resolver.task_id
names = ("bool", "int32", "bfloat16", "float32", "uint8")
with strategy.scope():
    made = [sx.Variable(np.full(shape, worker), dtype=name) for name in names for shape in ((), (3,), (2, 5), (0, 4))]
report(values=[v.numpy().tolist() for v in made], kinds=[[str(v.dtype), list(v.shape)] for v in made])
"""


@pytest.mark.programs
def test_variables_of_every_dtype_and_shape_begin_with_the_chiefs_values():
    first, second = run_tasks(2, VARIABLES)
    assert [first.code, second.code] == [0, 0], first.err + second.err
    assert first.report == second.report
    assert first.report["values"][:4] == [False, [False] * 3, [[False] * 5] * 2, []]
    assert first.report["kinds"][8:12] == [
        ["bfloat16", []],
        ["bfloat16", [3]],
        ["bfloat16", [2, 5]],
        ["bfloat16", [0, 4]],
    ]


PARTS = """
import numpy as np, keras
import stratax as sx
strategy = sx.distribute.ShardedStrategy(layout={"^in_parts": ("shard",), "kernel": (None, "shard")})
worker = sx.cluster.current().process_index
kinds = ("bool", "int32", "bfloat16", "float32", "float64")
class Own(keras.initializers.Initializer):  # Each worker has its own, and so do those that draw from the system.
    def __call__(self, shape, dtype=None):
        return keras.ops.full(shape, worker + 1, dtype)
    def get_config(self):
        return {}
with strategy.scope():
    made = [keras.Variable(np.full((4, 3), worker + 1), dtype=kind, name="in_parts") for kind in kinds]
    made.append(keras.Variable(Own(), shape=(8,), name="in_parts"))
    layer = keras.layers.Dense(4, kernel_initializer=Own(), bias_initializer=Own())
# Built while a replica's function is traced.
strategy.run(lambda: layer(np.ones((2, 3), "float32")))
kernel = layer.kernel
report(born=[float(v.numpy().astype("float32").mean()) for v in [*made, kernel]],
       shapes=[list(v.value.sharding.shard_shape(v.shape)) for v in [*made, kernel]])
rows = np.arange(12, dtype="float32").reshape(3, 4)
kernel.assign(rows)
seen = [kernel.numpy()]
kernel.assign(keras.ops.convert_to_tensor(rows + 1))
seen.append(np.asarray(kernel))
kernel.assign(kernel * 2)
seen.append(keras.ops.convert_to_numpy(kernel))
kernel.assign_add(np.ones_like(rows))
seen += layer.get_weights()[:1]
layer.set_weights([rows, np.zeros(4)])
seen.append(np.asarray(strategy.reduce("mean", kernel, axis=None)))
report(seen=[each.tolist() for each in seen], shown=repr(kernel),
       place=list(kernel.value.sharding.shard_shape(kernel.shape)))
if worker == 0:  # A strategy of its own waits for nobody, and divides what that of all divides.
    mine = strategy.of_this_process()
    with mine.scope():
        v = keras.Variable(np.arange(8.0), name="in_parts")
    part = v.value.sharding.shard_shape(v.shape)
    report(mine=[mine.num_workers, mine.num_replicas_in_sync, *part, *v.numpy().tolist()])
whole = sx.distribute.ShardedStrategy(replicas=2, layout={"v": ("shard",)})
with whole.scope():
    v = keras.Variable(np.arange(4.0), name="v")
if worker == 0:  # This one has all of it, and reads alone.
    report(alone=v.numpy().tolist())
try:
    np.asarray(kernel if worker == 0 else made[3])
except sx.errors.StructureError as error:
    report(error=str(error))
def read(name):
    try:
        kernel.numpy()
    except sx.errors.StrataxError as error:
        report(**{name: f"{type(error).__name__}: {error}"})

step = sx.function(lambda: strategy.run(lambda: kernel.assign_add(np.ones_like(rows))))
cluster = sx.cluster.current()
step()
if worker == 0:
    read("alone_at_a_step")
step()
# Whoever has read alone goes on with the others.
cluster.barrier("after the second", 60.0)
report(after=kernel.numpy().tolist())
if worker == 0:
    read("alone_at_a_variable")
with strategy.scope():
    made.append(keras.Variable(1.0))
if worker == 1:
    step()
read("at_other_steps")
if worker == 0:
    step()
report(last=kernel.numpy().tolist())
for name, options in {"side_by_side": {"model": 4}, "devices": {"devices": [f"/cpu:{worker}"]}}.items():
    try:
        sx.distribute.ShardedStrategy(**options)
    except sx.errors.StrataxError as error:
        report(**{name: f"{type(error).__name__}: {error}"})
"""


def test_variables_in_parts_begin_with_the_chiefs_values_and_are_read_by_all():
    first, second = run_tasks(2, PARTS, devices=2)
    assert [first.code, second.code] == [0, 0], first.err + second.err
    report = first.report
    assert report.pop("alone") == [0, 1, 2, 3]
    assert report.pop("mine") == [1, 2, 4, *range(8)]
    other = second.report
    rows = np.arange(12.0).reshape(3, 4)
    for name, steps in (("alone_at_a_step", 1), ("alone_at_a_variable", 2)):
        message = report.pop(name)
        assert (
            "StrategyError: A value of which every worker has parts was to be read by this worker" in message
        )
        assert (
            f"float32[3, 4] P(None, 'shard') after step {steps} here; /job:worker/task:1 did not" in message
        )
    assert "different values" in report["at_other_steps"]
    assert "after step 2" in report["at_other_steps"]
    assert "after step 3" in report["at_other_steps"]
    np.testing.assert_array_equal([report["after"], report["last"]], [rows + 2, rows + 3])
    assert {**report, "devices": None} == {**other, "devices": None}
    assert report["born"] == [1.0] * 7
    assert report["shapes"] == [*[[1, 3]] * 5, [2], [3, 1]]
    np.testing.assert_array_equal(report["seen"], [rows, rows + 1, 2 * rows + 2, 2 * rows + 3, rows])
    assert report.pop("devices").startswith("ClusterError: The workers name different devices.")
    assert report["side_by_side"].startswith(
        "BadArgumentError: Neighbours that share a part of the batch are"
    )
    assert "model divides the 2 devices that each of 2 workers has" in report["side_by_side"]
    assert report["shown"] == "<Variable path=dense/kernel, shape=(3, 4), dtype=float32>"
    assert report["place"] == [3, 1]
    assert "The workers read different values of which they have parts" in report["error"]


DIFFERENT = """
import numpy as np
import stratax as sx
strategy = sx.distribute.MultiWorkerMirroredStrategy()
worker = strategy.cluster_resolver.task_id
with strategy.scope():
    made = sx.Variable(np.zeros((2, 3 + worker)))
"""


def test_workers_that_run_different_programs_say_so():
    tasks = run_tasks(2, DIFFERENT)
    for task in tasks:
        # Who is slower may see first that the other has left.
        assert task.code in (1, 201)
        assert "StructureError: The workers create different variables" in task.err
        assert "task:0: ['float32[2, 3]'], /job:worker/task:1: ['float32[2, 4]']" in task.err
