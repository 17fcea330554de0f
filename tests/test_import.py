"""What `import stratax` does and does not do. Each test asks a fresh process, in which nothing is imported yet."""

import json
import os
import subprocess
import sys

import pytest

MAX_SECONDS = 0.3


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
    return json.loads(done.stdout)


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


def test_the_import_is_quick_beyond_jax_and_keras():
    program = """
import os; os.environ["KERAS_BACKEND"] = "jax"
import json, time
import jax, keras
start = time.process_time()
import stratax
print(json.dumps(time.process_time() - start))
"""
    # Processor time: what else the machine is doing does not count.
    assert min(run(program) for _ in range(5)) <= MAX_SECONDS


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
