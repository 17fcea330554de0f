"""What is read from the text of Stratax and Keras is what there is once they are imported."""

import importlib
import inspect
import types

import keras
import pytest

from stratax.base import doors
from stratax.tf import _reader, _sources

DOORS = sorted(doors.read_tables("stratax.tf"))


def of(path):
    known = _sources.SourceModule("stratax.tf")
    for part in path.split("."):
        known = _sources.attribute(known, part)
    return known


@pytest.mark.parametrize("door", DOORS)
def test_every_name_of_a_module_is_found_and_no_other(door):
    module = importlib.import_module(door)
    names = [name for name in dir(module) if not name.startswith("_")]
    found = {name: _sources.attribute(_sources.SourceModule(door), name) for name in names}
    assert [name for name in names if found[name] is None] == []
    modules = {name for name in names if isinstance(getattr(module, name), types.ModuleType)}
    assert {name for name in names if isinstance(found[name], _sources.SourceModule)} == modules
    assert _sources.attribute(_sources.SourceModule(door), "nonsense") is None
    assert _sources.attribute(_sources.SourceModule(door), "_names") is None


@pytest.mark.parametrize("door", DOORS)
def test_the_arguments_of_functions_are_those_of_their_signatures(door):
    module = importlib.import_module(door)
    for name in dir(module):
        what = _sources.attribute(_sources.SourceModule(door), name)
        if not isinstance(what, _sources.SourceFunction):
            continue
        parameters = inspect.signature(getattr(module, name)).parameters.values()
        accepted = _sources.arguments(what)
        if accepted is not None:
            named = {
                each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
            }
            assert named <= accepted, name


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("keras.layers.Dense", {"units", "activation", "name", "trainable", "input_shape", "input_dim"}),
        ("keras.layers.Embedding", {"input_dim", "output_dim", "input_length"}),
        ("keras.optimizers.Adam", {"learning_rate", "beta_1", "clipnorm", "decay"}),
        ("reduce_sum", {"input_tensor", "axis", "keepdims", "name"}),
        ("data.Options", {"autotune", "deterministic", "threading"}),
        ("io.FixedLenFeature", {"shape", "dtype", "default_value"}),
        ("layers.Dense", {"units", "kernel_initializer", "name", "dtype"}),
        ("layers.SeparableConv2D", {"filters", "depthwise_initializer", "pointwise_constraint", "trainable"}),
        ("losses.huber_loss", {"labels", "delta", "weights", "loss_collection", "reduction"}),
        ("metrics.auc", {"labels", "curve", "name", "metrics_collections"}),
        ("metrics.true_positives", {"labels", "name", "updates_collections"}),
        ("metrics.recall_at_top_k", {"predictions_idx", "k", "name", "updates_collections"}),
    ],
)
def test_arguments_are_followed_to_where_they_end(path, arguments):
    accepted = _sources.arguments(of(path))
    assert arguments <= accepted
    assert not {"nonsense", "kwargs"} & accepted


@pytest.mark.parametrize(
    "path", ["keras.Model", "keras.callbacks.LambdaCallback", "keras.layers.RandAugment", "layers.dense"]
)
def test_any_argument_may_be_taken_where_the_text_does_not_tell(path):
    assert _sources.arguments(of(path)) is None


def test_methods_of_classes_are_found_with_those_of_their_bases():
    dataset = of("data.Dataset")
    import stratax.tf as tf

    public = [name for name in dir(tf.data.Dataset) if not name.startswith("_")]
    assert [name for name in public if _sources.attribute(dataset, name) is None] == []
    assert _sources.attribute(dataset, "nonsense") is None
    assert "Strategy" in [each.node.name for each in _sources.lineage(of("distribute.MirroredStrategy"))]


def test_what_keras_2_adds_is_taken_by_the_classes_themselves():
    import stratax.tf  # noqa: F401

    made = {
        "Layer": lambda **given: keras.layers.Dense(1, **given),
        "BaseOptimizer": lambda **given: keras.optimizers.Adam(**given),
        "ModelCheckpoint": lambda **given: keras.callbacks.ModelCheckpoint("x.keras", **given),
    }
    values = {"batch_input_shape": (2, 3), "lr": 0.1, "period": 1}
    for name, _, arguments in _reader._KERAS2:
        for argument in arguments:
            made[name](**{argument: values.get(argument)})
            with pytest.raises((TypeError, ValueError)):
                made[name](nonsense=1)
