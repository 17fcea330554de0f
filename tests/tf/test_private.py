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
        "from tensorflow.python.lib.io import file_io; file_io.FileIO, file_io.write_string_to_file",
        "from tensorflow.python.ops.init_ops import Zeros, glorot_uniform_initializer",
        "from tensorflow.python.ops.init_ops_v2 import Zeros, GlorotNormal",
        "from tensorflow.python.feature_column.feature_column import _EmbeddingColumn, numeric_column",
        "from tensorflow.python.feature_column import feature_column_v2 as fc; fc.EmbeddingColumn",
        "from tensorflow.python.tpu import tpu_function; tpu_function.get_tpu_context().number_of_shards",
        "from tensorflow.python.saved_model import tag_constants; tag_constants.SERVING",
        "from tensorflow.python.eager import context; context.num_gpus(), context.context().executing_eagerly()",
        "from tensorflow.python.framework import tensor_util; tensor_util.constant_value(3)",
        "from tensorflow.python.layers import utils; utils.smart_cond",
        "from tensorflow.python.ops import rnn_cell_impl; rnn_cell_impl._concat([2], 3), rnn_cell_impl.LSTMCell",
        "from tensorflow.python.estimator.canned.head import _Head",
        "from tensorflow.python.estimator.canned.optimizers import get_optimizer_instance",
        "from tensorflow.python.estimator.canned import prediction_keys; prediction_keys.PredictionKeys",
        "from tensorflow.contrib.learn.python.learn import learn_runner; learn_runner.run",
        "from tensorflow.contrib.learn.python.learn.utils import saved_model_export_utils as u; u.make_export_strategy",
        "from tensorflow.python.data.ops import dataset_ops; dataset_ops.Dataset",
    ],
)
def test_the_private_modules_that_many_name_are_there(statement):
    assert names(statement) == []
    exec(statement.replace("tensorflow", "stratax.tf"))


def test_other_private_modules_are_refused():
    ((_, name),) = names("from tensorflow.python.eager.tape import Tape")
    assert name == "tf.python.eager.tape.Tape"
    with pytest.raises(ImportError, match="is the inside of TensorFlow"):
        exec("from stratax.tf.python.tools import freeze_graph")


def test_local_devices_are_described():
    device = migration.list_local_devices()[0]
    assert (device.name, device.device_type) == ("/device:CPU:0", "CPU")
