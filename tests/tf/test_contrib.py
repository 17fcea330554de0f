"""Rooms of `tf.contrib` are imported as programs of TensorFlow 1 import them."""

import textwrap

import pytest

import stratax.tf as tf
from stratax.tf import migration


@pytest.mark.parametrize(
    "statement",
    [
        "import tensorflow.contrib.slim as slim; slim.arg_scope, slim.metrics.streaming_accuracy",
        "import tensorflow.contrib.metrics as metrics; metrics.streaming_pearson_correlation",
        "from tensorflow.contrib import predictor; predictor.from_saved_model",
        "from tensorflow.contrib import image as contrib_image; contrib_image.translate",
        "from tensorflow.contrib import opt as contrib_opt; contrib_opt.AdamWOptimizer",
        "from tensorflow.contrib.opt import LARSOptimizer, MomentumWOptimizer",
        "from tensorflow.contrib import stateless; stateless.stateless_random_uniform",
        "from tensorflow.contrib.keras.api.keras.models import Sequential",
        "from tensorflow.contrib.keras.api.keras.optimizers import Adam",
        "import tensorflow.contrib.keras as keras; keras.layers.Dense, keras.backend.mean",
        "from tensorflow.contrib.training.python.training import evaluation; evaluation.checkpoints_iterator",
        "from tensorflow.contrib.compiler import jit; jit.experimental_jit_scope",
        "from tensorflow.contrib.saved_model import save_keras_model",
        "from tensorflow.contrib.estimator import clip_gradients_by_norm, DNNEstimator, RNNEstimator",
        "from tensorflow.contrib.data import group_by_window, Counter, Iterator, TFRecordWriter",
        "from tensorflow.contrib.cluster_resolver import SimpleClusterResolver, TFConfigClusterResolver",
        "import tensorflow.contrib.eager as tfe; tfe.Variable, tfe.metrics.Mean",
        "from tensorflow.contrib import seq2seq; seq2seq.BeamSearchDecoder",
        "from tensorflow.contrib.seq2seq import BahdanauAttention, TrainingHelper",
        "from tensorflow.examples.tutorials.mnist import input_data; input_data.read_data_sets",
        "from tensorflow.contrib.learn.python.learn.datasets import mnist; mnist.DataSet",
        "from tensorflow.contrib.learn.python.learn.datasets.mnist import DataSet",
        "import tensorflow.contrib.learn.python.learn.datasets.base as base; base.maybe_download",
        "import tensorflow.contrib.learn as tflearn; tflearn.datasets.load_mnist",
        "from tensorflow.contrib.util import make_tensor_proto, make_ndarray, constant_value",
        "from tensorflow.contrib.framework import nest, is_tensor, sort, smart_cond; nest.flatten",
        "from tensorflow.contrib.factorization import KMeansClustering; KMeansClustering.KMEANS_PLUS_PLUS_INIT",
        "from tensorflow.contrib.learn.python.learn.utils import input_fn_utils; input_fn_utils.InputFnOps",
        "from tensorflow.contrib.learn import Estimator, MetricSpec, ModelFnOps, InputFnOps, io; io.numpy_input_fn",
        "from tensorflow.contrib.tpu import keras_to_tpu_model, TPUDistributionStrategy",
        "from tensorflow.contrib import distribute; distribute.get_distribution_strategy, distribute.ReplicaContext",
        "from tensorflow.contrib.nn import conv1d_transpose",
        "from tensorflow.contrib.slim.nets import inception; inception.inception_v3_arg_scope",
        "from tensorflow.contrib.slim.python.slim.nets.inception_v3 import inception_v3_base",
        "import tensorflow.contrib.slim as slim; slim.parallel_reader.get_data_files, slim.nets.inception",
        "from tensorflow.contrib import cloud, quantize; import tensorflow.contrib.tensorrt as trt",
        "from tensorflow.contrib.lookup import MutableHashTable, string_to_index_table_from_file",
    ],
)
def test_rooms_are_imported_by_any_statement(statement):
    assert migration.check_source(textwrap.dedent(statement)) == []
    exec(statement.replace("tensorflow", "stratax.tf"))


def test_rooms_hold_what_others_do():
    assert tf.contrib.data.Iterator is tf.data.Iterator
    assert tf.contrib.keras.api.keras is tf.keras
    assert tf.contrib.lookup.MutableDenseHashTable is tf.lookup.experimental.DenseHashTable
    assert tf.contrib.stateless.stateless_random_normal is tf.random.stateless_normal
