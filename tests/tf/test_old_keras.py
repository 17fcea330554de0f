"""Programs of Keras 2 that import it alone find its modules, names and arguments under `stratax run`."""

import subprocess
import sys

import pytest

from stratax.tf import migration

PROGRAM = """
import keras
from keras import backend as K
from keras.engine import Layer, Model
from keras.engine.topology import InputSpec
from keras.layers.core import Dense
from keras.layers.embeddings import Embedding
from keras.objectives import mean_squared_error
from keras.optimizers import Adam
from keras.preprocessing.text import Tokenizer
from keras.utils import multi_gpu_model, np_utils
from keras.utils.np_utils import to_categorical

assert Dense is keras.layers.Dense and Layer is keras.Layer and Model is keras.Model
assert to_categorical is np_utils.to_categorical is keras.utils.to_categorical
assert K.relu(-1.0) == 0 and not hasattr(K, "nothing") and not hasattr(keras.utils, "nothing")
assert Adam(lr=0.5).learning_rate == 0.5
try:
    import keras.layers.nothing
except ModuleNotFoundError as error:
    print(keras.__file__.replace("\\\\", "/").split("/")[-2:], error)
"""


@pytest.mark.parametrize("first", ["", "import tensorflow as tf\nassert tf.keras is not None\n"])
def test_keras_alone_is_that_of_its_second_version(tmp_path, first):
    program = tmp_path / "program.py"
    program.write_text(first + PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program)],
        env=migration.environment_as_tensorflow(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['keras', '__init__.py'] No module named 'keras.layers.nothing'"


def test_a_missing_keras_is_told_as_such(tmp_path):
    code = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'keras' and not any('_stand_in' in each for each in sys.path):\n"
        "            raise ModuleNotFoundError('hidden', name='keras')\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "import stratax.tf\n"
        "try:\n"
        "    import keras\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error.name, any('_stand_in' in each for each in sys.path))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=migration.environment_as_tensorflow(),
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert done.stdout.split() == ["keras", "True"]
