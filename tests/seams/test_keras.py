"""What is replaced inside Keras: listed, replaced once, and still of the signature that the replacement relies on."""

import ast
import importlib.util
import inspect
import pathlib
import subprocess
import sys

import keras
import pytest

import stratax as sx
import stratax.keras
from stratax.checkpoint import _keras_hooks as checkpoint_hooks
from stratax.core import state
from stratax.core.gradients import _tape_host
from stratax.core.host import _arrivals
from stratax.distribute import keras_hooks
from stratax.keras import _compile
from stratax.seams import keras as seam
from stratax.seams import keras_ranges, keras_text
from stratax.tensorflow.v1 import _keras_optimizers

SIGNATURES = pathlib.Path(__file__).with_name("keras_signatures.txt")
PACKAGE = pathlib.Path(stratax.__file__).parent


def install_all():
    _compile.install()
    checkpoint_hooks.install()
    keras_hooks.install()
    with sx.distribute.ShardedStrategy(["/cpu:0", "/cpu:1"], layout={"v": ("shard",)}).scope():
        keras.Variable([1.0, 2.0], name="v")
    _arrivals._count_variables()
    _keras_optimizers.install()
    state.install()
    _tape_host.install()
    keras_ranges.install()
    keras_text.install()


def present(replaced):
    owner, name = replaced.owner()
    return inspect.getattr_static(owner, name)


def signatures():
    lines = []
    for replaced in seam.REPLACED:
        original = seam.original(replaced.path)
        shown = inspect.signature(original) if callable(original) else f" {type(original).__name__}"
        lines.append(f"{replaced.path}{shown}")
    return lines


def test_what_is_replaced_has_the_signature_that_the_replacements_were_written_for():
    """If it fails for a new Keras: look at each change, mend the replacement, then put the new line into the file."""
    assert signatures() == SIGNATURES.read_text().splitlines()


def test_everything_that_is_listed_is_replaced_and_nothing_is_replaced_twice():
    install_all()
    left = {replaced.path for replaced in seam.REPLACED} - seam.find_installed()
    # Where TensorFlow is, Keras' callback for TensorBoard works by itself.
    assert left == set() or (
        importlib.util.find_spec("tensorflow") and all("TensorBoard" in path for path in left)
    )
    before = [present(replaced) for replaced in seam.REPLACED]
    install_all()
    assert [present(replaced) for replaced in seam.REPLACED] == before
    for replaced in seam.REPLACED:
        assert (replaced.path in left) == (present(replaced) is seam.original(replaced.path)), replaced.path
        assert replaced.why


def test_what_is_not_listed_is_not_replaced():
    with pytest.raises(KeyError, match=r"keras:Model\.summary"):
        seam.install("tests", {"keras:Model.summary": lambda original: original})


def test_two_packages_may_replace_one_attribute(monkeypatch):
    path = "keras:callbacks.ModelCheckpoint._save_model"
    monkeypatch.setattr(seam, "_installed", set())
    monkeypatch.setattr(keras.callbacks.ModelCheckpoint, "_save_model", lambda self: ["keras"])
    for package in ("one", "other", "one"):
        seam.install(
            package, {path: lambda original, package=package: lambda self: [package, *original(self)]}
        )
    assert keras.callbacks.ModelCheckpoint._save_model(None) == ["other", "one", "keras"]


def test_only_the_seams_import_what_is_inside_keras_jax_and_malt():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name == "seams":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [f"{path.name}: {name}" for name in names if is_inside(name)]
    assert found == []


def is_inside(name):
    return name.startswith(("keras.src", "jax._src", "malt"))


def test_a_block_outside_of_scopes_restores_them():
    scope = keras.StatelessScope()
    with scope:
        with seam.outside_stateless_scope():
            assert seam.get_stateless_scope() is None
        assert seam.get_stateless_scope() is scope


def test_the_seed_is_set_read_and_forgotten():
    seam.set_random_seed([3, 4])
    assert seam.random_seed().numpy().tolist() == [3, 4]
    seam.forget_random_seed()
    assert seam.random_seed() is None


NEEDS_VALUES = """
import stratax as sx
import jax
import keras
import numpy as np

class Needs(keras.layers.Layer):
    def __init__(self, how):
        super().__init__()
        self.how = how
        self.w = self.add_weight(shape=(2,), name="w")

    def call(self, inputs):
        return inputs + self.how(self.w.value)

for how in (float, bool, np.asarray, range(9).__getitem__):
    with sx.distribute.MirroredStrategy().scope():
        layer = Needs(lambda w, how=how: how(w.sum().astype("int32")))
    try:
        layer(keras.Input((2,)))
    except Exception as error:
        print(type(error).__name__, "infer the output shape" in str(error) and "traced array" in str(error))
"""


@pytest.mark.processes
def test_errors_of_values_that_a_trace_does_not_have_leave_layers_as_they_are():
    """Keras 3.15 would say "'str' object has no attribute '_error_repr'". A fresh process has compiled nothing yet."""
    found = subprocess.run([sys.executable, "-c", NEEDS_VALUES], capture_output=True, text=True, check=True)
    kinds = ("Concretization", "TracerBoolConversion", "TracerArrayConversion", "TracerIntegerConversion")
    assert found.stdout.split() == [
        word for kind in kinds for word in (f"{kind}{'Type' * (kind == kinds[0])}Error", "True")
    ]
