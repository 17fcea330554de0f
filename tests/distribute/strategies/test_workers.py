"""What workers agree on when they begin (in real processes)."""

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
