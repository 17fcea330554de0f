"""What programs import beside TensorFlow where Stratax stands in for it."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import stratax.tf as tf
from stratax.tf import migration

PROBABILITY = {
    "__init__.py": """
        try:
            import tensorflow
        except ImportError:
            sees_tensorflow = False
        else:
            sees_tensorflow = True
        import importlib
        __version__ = "0.26"
        distributions = "needs TensorFlow"
    """,
    "substrates/__init__.py": "",
    "substrates/jax/__init__.py": "from . import distributions, internal\n",
    "substrates/jax/internal/__init__.py": "from . import samplers\n",
    "substrates/jax/internal/samplers.py": """
        import jax
        def sanitize_seed(seed, salt=None, name=None):
            return jax.random.fold_in(jax.random.wrap_key_data(seed) if seed.ndim else seed, 1)
    """,
    "substrates/jax/distributions.py": """
        import jax
        from .internal import samplers
        class Distribution:
            def sample(self, shape=(), seed=None):
                return self._call_sample_n(shape, seed)
            def _call_sample_n(self, sample_shape, seed):
                if seed is None:
                    raise ValueError("Must provide a key")
                return jax.random.normal(samplers.sanitize_seed(seed, salt="x"), sample_shape)
    """,
}


def run(folder, program):
    """Return what a program prints that takes Stratax for TensorFlow, with packages of a folder."""
    environment = migration.environment_as_tensorflow()
    environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], str(folder)])
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def probability(tmp_path):
    for name, text in PROBABILITY.items():
        file = tmp_path / "tensorflow_probability" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    return tmp_path


def test_keras_and_slim_as_packages_of_their_own(tmp_path):
    # Packages of these names that are installed are hidden.
    for name in ("tf_keras", "tf_slim"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')")
    program = """
        import tf_keras
        from tf_keras.layers import Dense
        import tf_keras.backend as K
        import tf_slim as slim
        from tf_slim import arg_scope
        from tf_slim.nets import inception
        import tensorflow as tf
        assert tf_keras is tf.keras and Dense is tf.keras.layers.Dense and K is tf.keras.backend
        assert slim.conv2d is tf.contrib.slim.conv2d and arg_scope is slim.arg_scope
        print(Dense(2)(tf.ones([1, 3])).shape)
    """
    done = run(tmp_path, program)
    assert (done.stdout, done.returncode) == ("(1, 2)\n", 0), done.stderr


@pytest.mark.parametrize("first", ["import tensorflow as tf\n", ""])
def test_probability_computes_with_jax(probability, first):
    program = f"""
        {first}
        import tensorflow_probability as tfp
        from tensorflow_probability import distributions as tfd
        import tensorflow as tf
        import jax
        assert not tfp.sees_tensorflow and tfd is tfp.distributions and tf.ones([2]).shape == (2,)
        one = tfd.Distribution()
        tf.random.set_seed(1)
        drawn = one.sample([2])
        tf.random.set_seed(1)
        print(bool((drawn == one.sample([2])).all()), bool((one.sample([2]) == one.sample([2])).any()))
        same = one.sample([2], seed=(1, 2)) == one.sample([2], seed=(1, 2))
        print(one.sample([2], seed=3).shape, bool(same.all()))
        print(one.sample([2], seed=jax.random.key(1)).shape, tf.function(lambda: one.sample([3]))().shape)
    """
    done = run(probability, program)
    assert done.stdout == "True False\n(2,) True\n(2,) (3,)\n", done.stderr


def test_a_probability_that_does_not_fit_this_jax_says_what_to_install(probability):
    file = probability / "tensorflow_probability" / "substrates" / "jax" / "distributions.py"
    file.write_text("import jax\njax.interpreters.nothing")
    done = run(probability, "import tensorflow_probability")
    assert "Run `pip install tfp-nightly`" in done.stderr
    assert "does not fit the JAX that is installed" in done.stderr


def test_a_probability_that_is_not_installed_is_not_found(tmp_path):
    done = run(tmp_path, "import tensorflow_probability")
    assert "ModuleNotFoundError: No module named 'tensorflow_probability'" in done.stderr


def test_libraries_of_tensorflow_ask_tensors_for_their_values():
    (number,) = tf.data.Dataset.from_tensors(np.float32(2))
    (text,) = tf.data.Dataset.from_tensors("a")
    assert (number._numpy(), text._numpy()) == (2.0, b"a")
    assert tf.constant([1, 2])._numpy().tolist() == [1, 2]
