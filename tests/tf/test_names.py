"""Which names of TensorFlow's there are, what they stand for, and what is said about the others."""

import importlib
import os
import pathlib
import subprocess
import sys

import keras
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.tensorflow.ops.calls import dtypes

COMPATIBILITY = pathlib.Path(__file__).parents[2] / "docs" / "compatibility.md"
SAME = {
    "tf.function": sx.function,
    "tf.GradientTape": sx.GradientTape,
    "tf.Variable": sx.Variable,
    "tf.print": sx.print,
    "tf.device": sx.cluster.device,
    **{
        f"tf.keras.{name}": getattr(keras, name)
        for name in dir(keras)
        # Modules with names of Keras 2 besides Keras 3's are doors of their own.
        if not name.startswith("_") and name not in tf.keras.__all__
    },
    **{
        f"tf.keras.{module}.{name}": getattr(getattr(keras, module), name)
        for module in sorted(set(tf.keras.__all__) & set(dir(keras)))
        for name in dir(getattr(keras, module))
        if not name.startswith("_") and name not in getattr(tf.keras, module).__all__
    },
    "tf.keras.estimator.model_to_estimator": sx.estimator.model_to_estimator,
    "tf.data.Dataset": sx.data.Dataset,
    "tf.data.AUTOTUNE": sx.data.AUTOTUNE,
    "tf.data.experimental.AutoShardPolicy": sx.data.AutoShardPolicy,
    "tf.distribute.TPUStrategy": sx.distribute.TPUStrategy,
    "tf.distribute.experimental.TPUStrategy": sx.distribute.TPUStrategy,
    "tf.distribute.experimental.CentralStorageStrategy": sx.distribute.CentralStorageStrategy,
    "tf.distribute.cluster_resolver.TPUClusterResolver": sx.cluster.TPUClusterResolver,
    "tf.distribute.DistributedValues": sx.distribute.PerReplica,
    "tf.config.list_logical_devices": sx.cluster.list_logical_devices,
    "tf.config.experimental_connect_to_host": sx.cluster.experimental_connect_to_host,
    "tf.tpu.experimental.initialize_tpu_system": sx.cluster.initialize_tpu_system,
    "tf.errors.OutOfRangeError": sx.OutOfRangeError,
    "tf.errors.InvalidArgumentError": sx.errors.BadArgumentError,
    "tf.autograph.experimental.do_not_convert": sx.do_not_convert,
    "tf.nn.compute_average_loss": sx.distribute.compute_average_loss,
    "tf.float32": dtypes.float32,
    "tf.nest.map_structure": keras.tree.map_structure,
}


def resolve(path):
    value = tf
    for name in path.split(".")[1:]:
        value = getattr(value, name)
    return value


@pytest.mark.parametrize("path", SAME)
def test_a_name_of_tensorflows_is_stratax_own_object(path):
    assert resolve(path) is SAME[path] or resolve(path) == SAME[path]


@pytest.mark.parametrize(
    "path",
    [
        *(
            "tf.random",
            "tf.math",
            "tf.nn",
            "tf.linalg",
            "tf.data",
            "tf.data.experimental",
            "tf.distribute",
            "tf.config",
        ),
        *(
            "tf.distribute.experimental",
            "tf.distribute.cluster_resolver",
            "tf.tpu.experimental",
            "tf.autograph",
        ),
        *("tf.autograph.experimental", "tf.errors", "tf.dtypes", "tf.nest", "tf.tpu"),
    ],
)
def test_submodules_can_be_imported_too(path):
    assert importlib.import_module(f"stratax.{path}") is resolve(path)


@pytest.mark.parametrize(
    ("path", "suggestion"),
    [
        ("tf.softmax", "tf.nn.softmax"),
        ("tf.reduce_summ", "tf.reduce_sum"),
        ("tf.MirroredStrategy", "tf.distribute.MirroredStrategy"),
        ("tf.distribute.MirrorStrategy", "tf.distribute.MirroredStrategy"),
        ("tf.nn.log_softmx", "tf.nn.log_softmax"),
        ("tf.data.Datset", "tf.data.Dataset"),
    ],
)
def test_an_unknown_name_says_what_exists_near_and_where_to_look(path, suggestion):
    with pytest.raises(AttributeError, match=f"Did you mean .*{suggestion}.*docs/compatibility.md"):
        resolve(path)


def test_a_name_like_no_other_says_where_to_look():
    with pytest.raises(AttributeError, match=r"tf has no name 'zzzzzz' here\. docs/compatibility\.md"):
        resolve("tf.zzzzzz")
    with pytest.raises(AttributeError, match=r"tf has no name 'nonesuch' here\. docs/compatibility\.md"):
        resolve("tf.nonesuch")
    assert not hasattr(tf, "Nonesuch")


def test_looking_for_a_name_that_is_not_there_imports_nothing():
    program = "import sys, stratax.tf as tf; print(hasattr(tf, 'Nonesuch'), 'keras' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "STRATAX_SIMULATE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "False False\n", done.stderr


def test_the_page_that_errors_point_to_exists():
    assert COMPATIBILITY.is_file()


def test_a_graph_program_finds_the_end_of_its_data_as_in_tensorflow():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(4)))

    @tf.function
    def step(iterator):
        return strategy.run(lambda x: tf.reduce_sum(x), args=(next(iterator),))

    assert strategy.reduce(tf.distribute.ReduceOp.SUM, step(iterator), axis=None).item() == 6
    with pytest.raises(tf.errors.OutOfRangeError):
        step(iterator)


def test_the_import_starts_no_device():
    # JAX takes this setting only as long as it has not started.
    program = "import stratax.tf, jax; jax.config.update('jax_num_cpu_devices', 3); print(jax.device_count())"
    environment = {name: value for name, value in os.environ.items() if name != "STRATAX_SIMULATE"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "3\n", done.stderr
