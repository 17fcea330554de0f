"""What `import tensorflow` gives in a program that Stratax runs, and what those find who only look for TensorFlow."""

import os
import subprocess
import sys
import textwrap

import pytest

from stratax.tf import migration

AS_TENSORFLOW = migration.environment_as_tensorflow()
# Each part is a program of its own; they share a process because starting one takes seconds.
PROGRAM = """
import importlib.metadata, importlib.util, sys
assert importlib.util.find_spec("tensorflow") is not None
import keras
assert keras.config.backend() == "jax"
import tensorflow as tf
import stratax.tf
from tensorflow import keras as tf_keras
from tensorflow.keras.layers import Dense
import tensorflow.keras.applications.resnet50 as resnet50
import tensorflow.compat.v1 as tf1
from tensorflow.compat.v1.train import AdamOptimizer
assert tf is stratax.tf is sys.modules["tensorflow"]
assert tf.keras.layers.Dense is Dense is keras.layers.Dense
assert resnet50 is keras.applications.resnet50 and tf1 is stratax.tf.compat.v1
assert importlib.util.find_spec("tensorflow").origin == stratax.tf.__file__
assert tf.__version__ == tf.version.VERSION == "2.21.0"

# Keras, inside of a function that is compiled, goes on as without TensorFlow.
scale = keras.layers.Rescaling(2.0)
assert tf.function(lambda x: scale(x))(tf.ones([2])).tolist() == [2.0, 2.0]
assert [e.tolist() for e in tf.data.Dataset.from_tensor_slices([[1.0]]).map(scale)] == [[2.0]]
from keras.src.utils.module_utils import tensorflow as seen
assert not seen.available

# The first `compile` makes models follow strategies, and takes Keras 2's arguments.
model = tf_keras.Sequential([Dense(1)])
model.compile("sgd", "mse", experimental_run_tf_function=False)
data = tf.data.Dataset.from_tensor_slices(([[1.0]] * 4, [[1.0]] * 4)).batch(2)
assert len(model.fit(data, verbose=0, workers=2).history["loss"]) == 1

# TensorBoard takes its own part for TensorFlow.
from tensorboard.compat import tf as of_tensorboard
assert of_tensorboard.io.gfile.exists("/") and of_tensorboard.__name__ != "stratax.tf"

# Libraries that look for the installed package find none, as `datasets` does.
try:
    importlib.metadata.version("tensorflow")
except importlib.metadata.PackageNotFoundError:
    pass
import cloudpickle, pickle
assert pickle.loads(cloudpickle.dumps(tf)) is tf
function = pickle.loads(cloudpickle.dumps(lambda: tf.__version__))
assert function() == "2.21.0"

import subprocess
child = "import tensorflow; print(tensorflow.__name__)"
print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout, end="")
print(sys.argv, __name__)
raise SystemExit(7)
"""


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False, **options
    )


@pytest.mark.programs
def test_a_program_runs_as_it_is(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = run("-m", "stratax", "run", str(program), "one", "--two", "-h")
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout.splitlines() == ["stratax.tf", f"{[str(program), 'one', '--two', '-h']} __main__"]


@pytest.mark.programs
def test_code_modules_and_standard_input_run_like_pythons(tmp_path):
    says = "import sys, tensorflow; print(tensorflow.__version__, sys.argv)"
    (tmp_path / "said.py").write_text(says)
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([root, str(tmp_path)])}
    for arguments, given in (
        (("-c", says, "x"), ["-c", "x"]),
        (("-m", "said", "x"), [str(tmp_path / "said.py"), "x"]),
        (("-", "x"), ["-", "x"]),
    ):
        done = run("-m", "stratax", "run", *arguments, input=says, env=environment)
        assert done.stdout == f"2.21.0 {given}\n", done.stderr


def test_a_traceback_begins_with_the_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("def f():\n    raise KeyError('mine')\nf()\n")
    done = run("-m", "stratax", "run", str(program))
    assert done.returncode == 1
    assert done.stderr.splitlines()[:2] == [
        "Traceback (most recent call last):",
        f'  File "{program}", line 3, in <module>',
    ]


def test_an_installed_tensorflow_is_hidden_in_that_mode_only_and_the_log_says_so(tmp_path):
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text("name = 'the real one'\n")
    says = "import tensorflow; print(getattr(tensorflow, 'name', tensorflow.__name__))"
    paths = {"PYTHONPATH": os.pathsep.join([AS_TENSORFLOW["PYTHONPATH"], str(tmp_path)])}
    program = f"import logging; logging.basicConfig(level='DEBUG'); {says}"
    hidden = run("-c", program, env=os.environ | paths)
    assert hidden.stdout == "stratax.tf\n"
    assert hidden.stderr.count(f"not {tmp_path}/tensorflow/__init__.py") == 1
    assert run("-c", says, cwd=tmp_path).stdout == "the real one\n"
    late = run("-c", f"{says}; import stratax.tf as t; t.install_as_tensorflow()", cwd=tmp_path)
    assert (
        "BackendError: Stratax can't take the place of TensorFlow, which is imported already" in late.stderr
    )


def test_an_installed_tensorflow_can_be_imported_beside_it(tmp_path):
    for name in ("", "python", "python/framework"):
        (tmp_path / "tensorflow" / name).mkdir(exist_ok=True)
        (tmp_path / "tensorflow" / name / "__init__.py").touch()
    # As TensorFlow's own begins: with what Stratax has not, and with what it has under the same path.
    (tmp_path / "tensorflow/__init__.py").write_text(
        "from tensorflow.python import pywrap_tensorflow\nfrom tensorflow.python.framework import ops\n"
    )
    (tmp_path / "tensorflow/python/pywrap_tensorflow.py").touch()
    (tmp_path / "tensorflow/python/framework/ops.py").write_text("name = 'the real one'\n")
    program = """
        import stratax.tf as tf
        assert tf.constant(1.0).numpy() == 1.0
        import stratax.tf.python.framework.ops as ours
        import tensorflow
        print(tensorflow.ops.name, hasattr(ours, "name"), tf.reduce_sum([1.0, 2.0]).numpy())
    """
    done = run("-c", textwrap.dedent(program), cwd=tmp_path)
    assert done.stdout == "the real one False 3.0\n", done.stderr


def test_a_notebook_and_a_program_can_ask_for_it_themselves():
    program = """
        import stratax.tf, sys
        stratax.tf.load_ipython_extension(None)
        stratax.tf.install_as_tensorflow()
        import tensorflow as tf, tensorflow.nn
        print(tf is stratax.tf, tensorflow.nn is tf.nn, 'keras' in sys.modules)
    """
    assert run("-c", textwrap.dedent(program)).stdout == "True True False\n"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from stratax.tf.lite import Interpreter", "tf.lite is not in Stratax"),
        ("from stratax.tf import AttrValue", "tf.AttrValue is not in Stratax.*Instead:"),
        ("from stratax.tf.nn import softmux", "Did you mean tf.nn.softmax"),
        ("from stratax.tf.keras.layers import Densely", "tf.keras.layers has no name 'Densely'.*here"),
        ("import stratax.tf.float32", "stratax.tf.float32 is no module"),
    ],
)
def test_an_import_of_what_is_not_there_says_what_the_attribute_would_say(statement, message):
    with pytest.raises(ImportError, match=message):
        exec(statement)


def test_a_program_may_ask_for_preprocessing_before_anything_else_of_keras():
    program = "import stratax.tf as tf; print(tf.keras.preprocessing.sequence.skipgrams([1, 2], 3, seed=1)[1] != [])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "True\n"


@pytest.mark.parametrize("first", ["executing_eagerly()", "init_scope()", "OptionalSpec"])
def test_a_program_may_ask_for_names_of_tracing_before_anything_else(first):
    # These modules import Keras while they run, which imports what this library adds to it.
    program = f"import stratax.tf as tf; tf.{first}; print(tf.function(lambda: tf.constant(3))().numpy())"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "3\n"
