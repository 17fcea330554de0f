"""Operations that decide, repeat and call functions (saved_models layer)."""

import numpy as np

from stratax.errors import BadArgumentError
from stratax.tensorflow.saved_models.graph import FileNode
from stratax.tensorflow.saved_models.operations import OperationContext, Value, define, plain

define(
    "NoOp ControlTrigger Print PrintV2", lambda run, node, *values: values[0] if node.op == "Print" else ()
)
plain("LoopCond", lambda value: value)


def _assert(run: OperationContext, node: FileNode, condition: Value, *values: Value) -> tuple[()]:
    # What is known only when a program runs goes unchecked, as in TensorFlow's programs for TPUs.
    if isinstance(condition, np.ndarray | np.generic | bool) and not np.all(condition):
        said = " ".join(str(np.asarray(each).reshape(-1)[:3].tolist())[:200] for each in values)
        raise BadArgumentError(f"assertion failed at {node}: {said[:500]}")
    return ()


define("Assert", _assert)
define(
    "PartitionedCall StatefulPartitionedCall",
    lambda run, node, *operands: run.call(node["f"].name, operands),
    stateful=True,
)
define("If StatelessIf", lambda run, node, condition, *operands: run.choose(node, condition, operands))
define("Case StatelessCase", lambda run, node, index, *operands: run.choose_case(node, index, operands))
define("While StatelessWhile", lambda run, node, *operands: run.repeat(node, operands))
define(
    "Switch RefSwitch",
    lambda run, node, value, condition: run.switch(node, value, condition),
    outputs="output_false output_true",
)
define("Merge RefMerge", lambda run, node, *values: run.merge(node, values), outputs="output value_index")
define("Exit RefExit", lambda run, node, *values: run.leave(node))
