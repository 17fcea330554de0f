"""Private modules of TensorFlow that many programs name are there; others are refused."""

import functools
import gzip
import importlib
import struct
import sys
import textwrap

import numpy as np
import pytest

from stratax import errors
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
        "from tensorflow.contrib.framework.python.ops import arg_scope; arg_scope([])",
        "from tensorflow.contrib.framework.python.ops import variables; variables.get_or_create_global_step",
        "from tensorflow.contrib.layers.python.layers import layers; layers.fully_connected",
        "from tensorflow.contrib.layers.python.layers import fully_connected; fully_connected.__name__",
        "from tensorflow.contrib.learn.python.learn import learn_runner; learn_runner.run",
        "from tensorflow.contrib.learn.python.learn.utils import saved_model_export_utils as u; u.make_export_strategy",
        "from tensorflow.python.data.ops import dataset_ops; dataset_ops.Dataset",
        "from tensorflow.python.keras.optimizer_v2 import optimizer_v2, gradient_descent; gradient_descent.SGD",
        "from tensorflow.python.keras.optimizer_v2.optimizer_v2 import OptimizerV2",
        "from tensorflow.python.keras import backend_config; backend_config.epsilon()",
        "from tensorflow.python.keras.engine import base_layer; base_layer.Layer",
        "from tensorflow.python import tf2; tf2.enabled()",
        "from tensorflow.python.summary import summary; summary.scalar",
        "from tensorflow.python.summary.writer.writer import FileWriter",
        "from tensorflow.core.protobuf import config_pb2; config_pb2.ConfigProto(allow_soft_placement=True)",
        "from tensorflow.core.protobuf import rewriter_config_pb2 as r; r.RewriterConfig.OFF",
        "from tensorflow.core.framework.summary_pb2 import Summary; Summary(value=[Summary.Value(tag='a')])",
        "from tensorflow.core.framework import node_def_pb2; node_def_pb2.NodeDef",
        "from tensorflow.core.example import example_pb2; example_pb2.Example()",
        "from tensorflow.examples.tutorials.mnist import input_data; input_data.read_data_sets",
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


@pytest.mark.parametrize(
    "statement",
    [
        "from tensorflow.contrib.learn.python.learn.estimators import rnn_common",
        "from tensorflow.contrib.slim.python.slim.nets import resnet_v1",
        "from tensorflow.python.keras.utils import tf_utils",
        "from tensorflow.python.ops.nn import no_such_function",
    ],
)
def test_what_a_private_module_lacks_is_said_beforehand(statement):
    assert len(names(statement)) == 1
    with pytest.raises(ImportError):
        exec(statement.replace("tensorflow", "stratax.tf"))


def test_local_devices_are_described():
    device = migration.list_local_devices()[0]
    assert (device.name, device.device_type) == ("/device:CPU:0", "CPU")


def test_what_a_signature_says():
    def model_fn(features, labels, *, mode, params=None, **others):
        pass

    inside = importlib.import_module("stratax.tf.python.util.function_utils")
    assert inside.fn_args(model_fn) == ("features", "labels", "mode", "params")
    assert inside.fn_args(functools.partial(model_fn, 1, mode=2)) == ("labels", "params")
    assert inside.has_kwargs(model_fn)
    assert inside.get_func_name(functools.partial(model_fn)) == "model_fn"


def test_messages_come_from_tensorboard_which_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto.graph_pb2", None)
    with pytest.raises(errors.MissingPackageError, match="stratax-train"):
        importlib.import_module("stratax.tf.core.framework.graph_pb2")


@pytest.fixture
def mnist(tmp_path):
    for part, count in (("train", 12), ("t10k", 3)):
        pixels = np.arange(count * 4, dtype=np.uint8)
        with gzip.open(tmp_path / f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">4I", 2051, count, 2, 2) + pixels.tobytes())
        with gzip.open(tmp_path / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">2I", 2049, count) + bytes(range(count // 3)) * 3)
    return tmp_path


def test_mnist_as_the_tutorials_read_it(mnist):
    inside = importlib.import_module("stratax.tf.examples.tutorials.mnist.input_data")
    data = inside.read_data_sets(str(mnist), one_hot=True, validation_size=4, seed=1)
    assert (data.train.num_examples, data.validation.num_examples, data.test.num_examples) == (8, 4, 3)
    np.testing.assert_allclose(data.test.images[1], np.arange(4, 8) / 255, rtol=1e-6)
    assert data.validation.labels.tolist() == np.eye(10)[:4].tolist()
    first = [data.train.next_batch(3)[0][:, 0] for _ in range(4)]
    # One pass is over within the third batch.
    assert sorted(np.concatenate(first)[:8]) == sorted(data.train.images[:, 0])
    assert data.train.epochs_completed == 1
    plain = inside.read_data_sets(str(mnist), dtype="uint8", reshape=False, validation_size=0).train
    assert plain.images.shape == (12, 2, 2, 1)
    assert plain.next_batch(2, shuffle=False)[1].tolist() == [0, 1]


def test_what_is_no_mnist_is_refused(mnist):
    inside = importlib.import_module("stratax.tf.examples.tutorials.mnist.input_data")
    images = (mnist / "t10k-images-idx3-ubyte.gz").open("rb")
    with images, pytest.raises(ValueError, match="MNIST"):
        inside.extract_labels(images)
    with pytest.raises(errors.BadArgumentError, match="Validation size"):
        inside.read_data_sets(str(mnist), validation_size=13)
