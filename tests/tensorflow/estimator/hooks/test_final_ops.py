"""Values that are read at the end."""

from stratax.tensorflow.estimator import FinalOpsHook
from tests.tensorflow.estimator.hooks import loop


def test_variables_are_read_at_the_end():
    session = loop.Session()
    session.variables = {"v": 3, "w": 4}
    hook, nothing = FinalOpsHook({"a": "v", "b": ["w"]}), FinalOpsHook(None)
    assert hook.final_ops_values is None
    loop.run([hook, nothing], 1, session=session)
    assert (hook.final_ops_values, nothing.final_ops_values) == ({"a": 3, "b": [4]}, None)
