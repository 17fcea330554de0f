"""What `import stratax` does and does not do. Each test asks a fresh process, in which nothing is imported yet."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests.stressed import but

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent

# Of the time that what it stands on takes; JAX and Keras take more than a second.
MAX_SHARE = 0.4
MAX_SHARE_OF_THE_FRONT_DOOR = 0.7


def run(program, **variables):
    """The JSON that `program` prints, in a process whose environment has only the settings in `variables`."""
    ours = ("KERAS_", "STRATAX_", "JAX_", "NPROC", "XLA_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=inherited | {"JAX_PLATFORMS": "cpu"} | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_import_starts_no_device():
    # JAX takes this setting only as long as it has not started.
    program = """
import json, stratax, jax
jax.config.update("jax_num_cpu_devices", 3)
print(json.dumps(jax.device_count()))
"""
    assert run(program) == 3


def test_the_import_sets_up_no_logger_warns_of_nothing_and_starts_no_thread():
    program = """
import os; os.environ["KERAS_BACKEND"] = "jax"
import json, logging, threading, warnings
import jax, keras, malt, numpy
def handlers():
    loggers = [logging.root, *(logging.getLogger(name) for name in sorted(logging.root.manager.loggerDict))]
    return {log.name: [log.level, len(log.handlers)] for log in loggers if log.handlers or log.level}
before, threads = handlers(), threading.active_count()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import stratax
messages = [str(w.message) for w in caught if "stratax" in w.filename]
print(json.dumps([handlers() == before, threading.active_count() - threads, messages]))
"""
    assert run(program) == [True, 0, []]


KERAS_ON_JAX = "import os; os.environ['KERAS_BACKEND'] = 'jax'; import keras"


def share(first, rest):
    """Processor time of importing `rest` as a part of that of importing `first` before it, in one process."""
    clock = "time.process_time()"
    program = (
        f"import json, time\ntimes = [{clock}]\n{first}\ntimes.append({clock})\n{rest}\ntimes.append({clock})"
    )
    # With all that Keras imports where it is installed, which tests/startup leaves out.
    start, middle, last = run(f"{program}\nprint(json.dumps(times))", PYTHONPATH=str(CHECKOUT))
    return (last - middle) / (middle - start)


def is_quick(first, rest, limit):
    """Whether one of three tries is within the limit."""
    return any(share(first, rest) <= limit for _ in range(3))


def test_everything_is_imported_quickly_beyond_jax_and_keras():
    rest = "import stratax.core, stratax.keras, stratax.tpu"
    assert is_quick(f"{KERAS_ON_JAX}; import jax", rest, MAX_SHARE)


def test_the_front_doors_are_imported_quickly_beyond_numpy():
    rest = "import stratax, stratax.data, stratax.tf"
    assert is_quick("import numpy", rest, MAX_SHARE_OF_THE_FRONT_DOOR)


@pytest.mark.parametrize(
    "program",
    [
        "import stratax",
        "import stratax.data",
        "import stratax.tf",
        "import stratax.tf as tf; tf.TensorSpec, tf.__version__, tf.data, tf.errors",
        "import stratax; dir(stratax), stratax.errors, stratax.__version__, stratax.cluster.ClusterSpec",
        "import numpy as np; import stratax.tf as tf; x = np.ones([4, 4], np.uint8); tf.one_hot(np.int64(3), 10); "
        "tf.reduce_mean(tf.reshape(tf.cast(x, tf.float32) / 255, [2, -1])); tf.cast(x[0, 0], tf.int32) + 1",
        "import stratax.core, stratax.tensorflow.ops.calls.creation, stratax.tensorflow.ops.control.assertions; "
        "from stratax.core import storage",
        "from stratax.tf import migration; "
        "assert migration.check_source('import tensorflow as tf; tf.keras.layers.Dense(1, x=2)')",
        "from stratax.cli._main import run; run(['--help'])",
    ],
)
def test_what_needs_neither_jax_nor_keras_imports_neither(program):
    names = '[name for name in ("jax", "keras") if name in sys.modules]'
    assert run(f"import json, sys\n{program}\nprint(json.dumps({names}))") == []


def test_every_name_of_a_front_door_is_there_when_it_is_asked_for():
    program = """
import json, stratax, stratax.cluster, stratax.data, stratax.tf as tf
doors = [stratax, stratax.cluster, stratax.data, tf]
print(json.dumps([sorted(set(door.__all__) ^ set(dir(door))) for door in doors]
                 + [[name for door in doors for name in door.__all__ if getattr(door, name) is None]]))
"""
    # tf.newaxis is None, as numpy.newaxis.
    assert run(program) == [[], [], [], [], ["newaxis"]]


HOOKED = '"_compile_hook" in keras.Model.compile.__code__.co_qualname'
MODEL = "keras.Sequential([keras.layers.Input([1]), keras.layers.Dense(1)]).compile(loss='mse')"


@pytest.mark.parametrize(
    "program",
    but(
        lambda program: KERAS_ON_JAX in program or program.startswith("import stratax.data"),
        [
            f"import stratax, keras; {MODEL}",
            f"{KERAS_ON_JAX}; import stratax; {MODEL}",
            f"import stratax; stratax.core; import keras; {MODEL}",
            "import stratax, keras; stratax.distribute",
            "import stratax.engine, keras",
            "import stratax.distribute, stratax.engine, keras",
            f"import stratax.data, keras; {MODEL}; {MODEL}; import stratax.keras",
        ],
    ),
)
def test_keras_models_know_strategies_whatever_was_imported_first(program):
    assert run(f"{program}\nimport json; print(json.dumps({HOOKED}))") is True


def test_a_method_of_models_that_was_kept_before_any_strategy_knows_strategies():
    # As programs do that log each call: `fit` is wrapped when there is no strategy yet.
    program = """
import json, numpy as np, stratax as sx, keras
kept = {name: getattr(keras.Model, name) for name in ("compile", "fit", "evaluate", "predict", "train_on_batch")}
called = []
def wrap(name):
    def method(self, *args, **kwargs):
        called.append(name)
        return kept[name](self, *args, **kwargs)
    setattr(keras.Model, name, method)
for name in kept:
    wrap(name)
with sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(loss="mse")
x = np.ones([4, 1])
model.fit(x, x, verbose=0), model.evaluate(x, x, verbose=0), model.predict(x, verbose=0), model.train_on_batch(x, x)
print(json.dumps([called, len(model.layers[0].kernel.value.devices())]))
"""
    calls = ["compile", "fit", "evaluate", "predict", "train_on_batch"]
    assert run(program, STRATAX_SIMULATE="cpu:2") == [calls, 2]


def test_asking_whether_keras_is_installed_does_not_import_it():
    program = """
import importlib.util, json, sys, stratax
specs = [importlib.util.find_spec("keras") is not None for _ in range(2)]
print(json.dumps([*specs, "keras" in sys.modules]))
"""
    assert run(program) == [True, True, False]


def test_the_import_brings_in_no_heavy_package_besides_jax_and_keras():
    program = """
import os; os.environ["KERAS_BACKEND"] = "jax"
import json, sys
import jax, keras
heavy = ["grain", "hypothesis", "orbax", "pandas", "pyarrow", "pytest", "sklearn", "tensorboard", "tensorflow", "torch"]
before = [name for name in heavy if name in sys.modules]
import stratax
print(json.dumps([name for name in heavy if name in sys.modules and name not in before]))
"""
    assert run(program) == []


def test_processes_of_tests_import_keras_without_what_it_looks_for_and_find_that_themselves():
    program = """
import json, sys, keras
from importlib.util import find_spec
from sitecustomize import HIDDEN
before = [name for name in HIDDEN if name in sys.modules]
print(json.dumps([before, [name for name in HIDDEN if not find_spec(name)], keras.backend.backend()]))
"""
    assert run(program, KERAS_BACKEND="jax") == [[], [], "jax"]


def test_the_import_picks_keras_jax_backend_where_nobody_has_chosen_one(tmp_path):
    # What Keras writes when it is first run with TensorFlow: a choice that nobody made.
    (tmp_path / "keras.json").write_text('{"backend": "tensorflow"}')
    program = "import json, stratax, keras; print(json.dumps(keras.backend.backend()))"
    assert run(program, KERAS_HOME=str(tmp_path)) == "jax"


@pytest.mark.parametrize(
    "first", ["import keras", ""], ids=["Keras imported already", "chosen by the environment"]
)
def test_the_import_refuses_another_keras_backend_and_says_how_to_change_it(first):
    program = f"""
import json
{first}
try:
    import stratax
except ImportError as error:
    print(json.dumps([type(error).__module__, type(error).__name__, str(error)]))
"""
    module, name, message = run(program, KERAS_BACKEND="numpy")
    assert (module, name) == ("stratax.errors", "BackendError")
    assert "KERAS_BACKEND" in message
    assert "'numpy'" in message
    assert "jax" in message


def test_the_import_applies_the_simulation_that_the_environment_asks_for():
    program = """
import json, stratax, jax
print(json.dumps([jax.device_count(), stratax.cluster.simulated_kind()]))
"""
    assert run(program, STRATAX_SIMULATE="tpu:5") == [5, "TPU"]
    assert run(program)[1] is None


def test_the_package_tells_type_checkers_that_it_is_annotated():
    import importlib.resources

    assert importlib.resources.files("stratax").joinpath("py.typed").is_file()


def test_records_are_written_and_read_without_tensorflow_or_a_choice_of_backend(tmp_path):
    program = f"""
import json, os, sys
sys.modules["tensorflow"] = None
assert "KERAS_BACKEND" not in os.environ
import stratax.data, stratax.tf as tf
with stratax.data.TFRecordWriter({str(tmp_path / "one")!r}) as writer:
    for label in range(3):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))
        features = tf.train.Features(feature=dict(label=feature))
        writer.write(tf.train.Example(features=features).SerializeToString())
parse = lambda record: tf.io.parse_single_example(record, dict(label=tf.io.FixedLenFeature([], tf.int64)))
labels = [int(e["label"]) for e in stratax.data.TFRecordDataset({str(tmp_path / "one")!r}).map(parse)]
print(json.dumps([labels, [name for name in ("jax", "keras") if name in sys.modules]]))
"""
    assert run(program) == [[0, 1, 2], []]
