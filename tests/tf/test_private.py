"""Private modules of TensorFlow that many programs name are there; others are refused."""

import textwrap

import pytest

from stratax.tf import migration


def names(text):
    return [(finding.line, finding.name) for finding in migration.check_source(textwrap.dedent(text))]


@pytest.mark.parametrize(
    "statement",
    [
        "from tensorflow.python.client import device_lib; device_lib.list_local_devices",
        "from tensorflow.python.framework import ops, dtypes; ops.convert_to_tensor, dtypes.float32",
        "from tensorflow.python.ops import array_ops, math_ops; array_ops.concat, math_ops.reduce_sum",
        "from tensorflow.python.keras.layers import Dense",
        "from tensorflow.python.keras import backend as K; K.mean",
        "from tensorflow.python.platform import tf_logging as logging; logging.info",
        "from tensorflow.python.training import session_run_hook; session_run_hook.SessionRunHook",
        "from tensorflow.python.util import nest; nest.map_structure",
        "from tensorflow.contrib.tpu.python.tpu import tpu_config, tpu_estimator; tpu_estimator.TPUEstimator",
        "import tensorflow.python.keras.layers",
    ],
)
def test_the_private_modules_that_many_name_are_there(statement):
    assert names(statement) == []
    exec(statement.replace("tensorflow", "stratax.tf"))


def test_other_private_modules_are_refused():
    ((_, name),) = names("from tensorflow.python.eager.context import context")
    assert name == "tf.python.eager.context.context"
    with pytest.raises(ImportError, match="is the inside of TensorFlow"):
        exec("from stratax.tf.python.tools import freeze_graph")


def test_local_devices_are_described():
    device = migration.list_local_devices()[0]
    assert (device.name, device.device_type) == ("/device:CPU:0", "CPU")
