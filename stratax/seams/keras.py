"""What Stratax takes from the inside of Keras, what it replaces there, and why (seams layer).

Three kinds of things:

- Names that Keras documents nowhere but that a strategy can't do without, imported here and nowhere else.
- Keras' global state, behind functions.
- Attributes of Keras that are replaced. `REPLACED` lists all of them with the reason; the packages above bring the
  replacements by `install`, which is safe to call again.
"""

import collections
import contextlib
import dataclasses
import functools
import inspect
import pkgutil
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import keras
from keras.src.backend import compute_output_spec
from keras.src.backend.common import global_state
from keras.src.backend.common.name_scope import current_path as _current_path
from keras.src.backend.common.stateless_scope import get_stateless_scope, in_stateless_scope
from keras.src.backend.common.symbolic_scope import in_symbolic_scope
from keras.src.backend.common.variables import get_autocast_scope
from keras.src.backend.jax.trainer import JAXEpochIterator, JAXTrainer
from keras.src.losses.loss import squeeze_or_expand_to_same_rank
from keras.src.models.functional import Functional
from keras.src.optimizers.base_optimizer import BaseOptimizer
from keras.src.optimizers.loss_scale_optimizer import LossScaleOptimizer
from keras.src.random import seed_generator
from keras.src.random.seed_generator import draw_seed
from keras.src.trainers import data_adapters
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.data_adapters.data_adapter import DataAdapter
from keras.src.trainers.data_adapters.generator_data_adapter import GeneratorDataAdapter
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter
from keras.src.trainers.trainer import Trainer
from keras.src.utils import module_utils
from keras.src.utils.io_utils import print_msg
from keras.src.utils.naming import to_snake_case
from keras.src.utils.python_utils import is_default

from stratax.base.surroundings import hand_too

__all__ = [
    "CALLS",
    "REPLACED",
    "SAVES",
    "ArrayDataAdapter",
    "BaseOptimizer",
    "DataAdapter",
    "Functional",
    "GeneratorDataAdapter",
    "JAXEpochIterator",
    "JAXTrainer",
    "LossScaleOptimizer",
    "PyDatasetAdapter",
    "Replaced",
    "Trainer",
    "array_slicing",
    "at_path",
    "compute_output_spec",
    "current_path",
    "data_adapter_utils",
    "data_adapters",
    "draw_seed",
    "find_autocast",
    "find_installed",
    "find_uninitialized_variables",
    "forget_random_seed",
    "fresh_names",
    "functional_of",
    "get_stateless_scope",
    "give_attributes",
    "give_shapes",
    "hide_tensorflow",
    "in_stateless_scope",
    "in_symbolic_scope",
    "install",
    "is_default",
    "is_in_layer",
    "original",
    "outside_stateless_scope",
    "print_msg",
    "random_seed",
    "set_random_seed",
    "set_uninitialized_variables",
    "squeeze_or_expand_to_same_rank",
    "states_of",
    "to_snake_case",
    "without_distribution",
]


def _of_a_text_too(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Exception, made_of: Any, *args: object) -> None:
        if isinstance(made_of, str):
            Exception.__init__(self, made_of)
        else:
            original(self, made_of, *args)

    return __init__


# Keras 3.15 makes an error that leaves a layer once more, of a text with its arguments. JAX makes these of a tracer:
# they leave a layer's call as they are, and where a layer's output is inferred they can be made of a text.
for _kind in (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.TracerIntegerConversionError,
):
    _kind.__init__ = _of_a_text_too(_kind.__init__)  # type: ignore[method-assign]
    _kind._keras_call_info_injected = True  # type: ignore[attr-defined, union-attr]


# Keras' global state. Keras keeps it in a thread-local object, by these names.

_SCOPE = "stateless_scope"
_DISTRIBUTION = "distribution"
_UNINITIALIZED = "uninitialized_variables"
_NAMES = "object_name_uids"
_NAME_SCOPES = "name_scope_stack"


@contextlib.contextmanager
def outside_stateless_scope() -> Iterator[None]:
    """Run a block as if no `keras.StatelessScope` were entered."""
    with _set_for_block(_SCOPE, None):
        yield


@contextlib.contextmanager
def without_distribution() -> Iterator[None]:
    """Run a block as if the program had given Keras no distribution, which would lay out new variables its own way."""
    with _set_for_block(_DISTRIBUTION, None):
        yield


def _state_of_thread() -> Callable[[], contextlib.AbstractContextManager[None]]:
    """Return a function that, in another thread, gives a block this thread's settings and scopes of Keras."""
    state = _copy_state(vars(global_state.GLOBAL_STATE_TRACKER))

    @contextlib.contextmanager
    def take_over() -> Iterator[None]:
        own = vars(global_state.GLOBAL_STATE_TRACKER)
        before = dict(own)
        # Each thread goes on with scopes of its own.
        own.update(_copy_state(state))
        try:
            yield
        finally:
            own.clear()
            own.update(before)

    return take_over


def _copy_state(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, list | dict) else value for name, value in state.items()}


hand_too(_state_of_thread)


@contextlib.contextmanager
def _set_for_block(name: str, value: object) -> Iterator[None]:
    before = global_state.get_global_attribute(name)
    global_state.set_global_attribute(name, value)
    try:
        yield
    finally:
        global_state.set_global_attribute(name, before)


def is_in_layer() -> bool:
    """Return whether the call of a layer is what runs."""
    return global_state.get_global_attribute("current_call_ctx") is not None


def current_path() -> list[str]:
    """Return the names of Keras' name scopes that are entered, from the outermost."""
    path = _current_path()
    return path.split("/") if path else []


@contextlib.contextmanager
def at_path(names: list[str]) -> Iterator[None]:
    """Run a block as if these name scopes of Keras were entered, and no others."""
    scopes = [keras.name_scope(name) for name in names if name]
    with _set_for_block(_NAME_SCOPES, scopes):
        yield


@contextlib.contextmanager
def fresh_names() -> Iterator[None]:
    """Run a block in which Keras counts automatic names (`dense`, `dense_1`) from the beginning."""
    with counting_names(collections.defaultdict(int)):
        yield


@contextlib.contextmanager
def counting_names(counts: collections.defaultdict[str, int]) -> Iterator[None]:
    """Run a block in which Keras counts automatic names on.

    Args:
        counts: How many of each there are.
    """
    with _set_for_block(_NAMES, counts):
        yield


def find_uninitialized_variables() -> list[keras.Variable]:
    """Return the variables that were created while tracing and have no value yet."""
    # A copy: the list is Keras' own, which is about to be replaced.
    return list(global_state.get_global_attribute(_UNINITIALIZED, [], set_to_default=True))


def set_uninitialized_variables(variables: list[keras.Variable]) -> None:
    """Make these the variables that Keras takes for not initialised."""
    global_state.set_global_attribute(_UNINITIALIZED, variables)


def find_autocast(variable: keras.Variable) -> Any:
    """Return the dtype that a variable's value is converted to where it is read now; None for none."""
    scope = get_autocast_scope()
    # A scope of Keras knows it; a variable of its own class may convert otherwise.
    is_cast = scope is not None and scope.dtype is not None and variable._autocast
    return scope.dtype if is_cast and keras.backend.is_float_dtype(variable._dtype) else None


def random_seed() -> Any:
    """Return the state of Keras' global seed generator, a variable of two numbers; None if nothing has drawn yet."""
    generator = global_state.get_global_attribute(seed_generator.GLOBAL_SEED_GENERATOR)
    return None if generator is None else generator.state


def states_of(layer: Any) -> list[keras.Variable]:
    """Return the variables in which a stateful RNN keeps its state, and which Keras counts among no layer's; else none.

    Args:
        layer: A layer.
    """
    is_stateful = isinstance(layer, keras.layers.RNN) and layer.stateful and layer.states is not None
    return keras.tree.flatten(layer.states) if is_stateful else []


def set_random_seed(seed: int) -> None:
    """Set the state of Keras' global seed generator.

    Args:
        seed: Two numbers.
    """
    state = seed_generator.global_seed_generator().state
    state.assign(keras.ops.convert_to_tensor(seed, state.dtype))


def forget_random_seed() -> None:
    """Have Keras make its global seed generator anew, from Python's random numbers, when something draws."""
    global_state.set_global_attribute(seed_generator.GLOBAL_SEED_GENERATOR, None)


# TensorFlow, as Keras sees it.


# What Keras' functions that make Datasets of folders and arrays ask of TensorFlow: all else needs it itself.
_FOR_DATASETS = frozenset(
    (
        "cast",
        "data",
        "expand_dims",
        "gather",
        "image",
        "io",
        "one_hot",
        "range",
        "string",
        "strings",
        "transpose",
    )
)


def hide_tensorflow(names: types.ModuleType) -> None:
    """Have Keras go on as without TensorFlow, also where `import tensorflow` gives a module.

    Args:
        names: What has TensorFlow's names for Datasets, of which Keras makes some, as of a folder of images.
    """
    # The object that all of Keras' modules share; they have imported it by name.
    module_utils.tensorflow.module = _NoTensorFlow(names)
    module_utils.tensorflow._available = False


class _NoTensorFlow:
    """What Keras asks, once a module `tensorflow` is imported, whether a graph of TensorFlow is being made."""

    def __init__(self, names: types.ModuleType) -> None:
        self._names = names

    def executing_eagerly(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name in _FOR_DATASETS:
            return getattr(self._names, name)
        raise ImportError(
            f"Keras needs TensorFlow itself for this (tensorflow.{name}), and runs without it here."
        )


# What is replaced.


@dataclasses.dataclass(frozen=True, slots=True)
class Replaced:
    """An attribute of Keras that Stratax puts another in the place of.

    Attributes:
        path: Where it is: `module:attribute` or `module:Class.attribute`.
        why: What Keras does not do by itself.
    """

    path: str
    why: str

    def owner(self) -> tuple[Any, str]:
        """Return the class or module that has the attribute, and the attribute's name."""
        module, _, attribute = self.path.partition(":")
        owner, _, name = attribute.rpartition(".")
        return pkgutil.resolve_name(f"{module}:{owner}" if owner else module), name


_TRAINER = "keras.src.trainers.trainer:Trainer"
_JAX_TRAINER = "keras.src.backend.jax.trainer"
_OPTIMIZERS = "keras.src.optimizers"
_VARIABLE = "keras.src.backend.common.variables:Variable"
_LOSS = "keras.src.losses.loss"
_DRAWN = "a variable's first value is drawn without compiling"
_BATCH_NORMALIZATION = "keras:layers.BatchNormalization"

_FOLLOWS = "a model follows the strategy in whose scope it was created"
_AGAIN = "a variable may be one that there is already, or one of a value inside a compiled function"
_OWNER = "a variable belongs to the strategy in whose scope it is created"
_STEP = "a user's step may have TensorFlow's signature, `(self, data)`, and call its parent's"
_LATE = "restored values reach variables that exist only when a layer or an optimizer is built"
_HELD = "steps are given the arrays of variables to overwrite, also those that somebody else holds"
_WHOLE = "a file that a callback saves appears whole or not at all"
_LOGS = "a bare `except` around the wait for the devices swallows Ctrl-C and errors"
_REPLICAS = "Keras asks `tf.distribute` on its TensorFlow backend, and does nothing on JAX"
_COMBINED = "what replicas assign is combined by the variable's aggregation, which Keras ignores on JAX"
_IN_PARTS = "a model that devices have in parts is whole in no memory, not the host's either"
_SUMMARY = "Keras' TensorBoard callback writes through TensorFlow, which need not be there"

# What users call on a model, and may override.
CALLS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")

# What writes models and weights to files, whatever has been called for it. The first argument is the model.
SAVES = (
    "keras.src.saving.saving_lib:save_model",
    "keras.src.saving.saving_lib:save_weights_only",
    "keras.src.legacy.saving.legacy_h5_format:save_model_to_hdf5",
)

# Every attribute of Keras that is replaced.
REPLACED = (
    Replaced("keras:Variable.__new__", _AGAIN),
    Replaced("keras:Variable.__init__", f"{_LATE}; {_AGAIN}"),
    Replaced("keras.src.backend.jax.core:JaxVariable._initialize_layout", _OWNER),
    Replaced("keras.src.backend.jax.core:JaxVariable._initialize_with_initializer", _OWNER),
    Replaced("keras.src.backend.jax.core:convert_to_tensor", "a tape may follow a tensor of the host"),
    Replaced("keras.src.backend.jax.random:normal", _DRAWN),
    Replaced("keras.src.backend.jax.random:truncated_normal", _DRAWN),
    Replaced("keras.src.backend.jax.random:uniform", _DRAWN),
    Replaced("keras.src.backend.jax.core:remat", "a layer that is computed anew may assign variables"),
    Replaced("keras:layers.Layer._maybe_build", _LATE),
    Replaced(f"{_TRAINER}.__init__", _FOLLOWS),
    Replaced(f"{_TRAINER}.compile", _FOLLOWS),
    Replaced(f"{_TRAINER}._symbolic_build", _LATE),
    Replaced(f"{_TRAINER}.get_metrics_result", "a metric's result may be a variable"),
    Replaced(
        "keras.src.metrics.reduction_metrics:Mean.result", "a model's means are divided without compiling"
    ),
    *(Replaced(f"{_JAX_TRAINER}:JAXTrainer.{name}", _FOLLOWS) for name in CALLS),
    Replaced(f"{_JAX_TRAINER}:JAXTrainer.train_step", _STEP),
    Replaced(f"{_JAX_TRAINER}:JAXTrainer.test_step", _STEP),
    Replaced(f"{_JAX_TRAINER}:JAXTrainer.predict_step", _STEP),
    Replaced(f"{_JAX_TRAINER}:JAXTrainer._get_jax_state", _HELD),
    Replaced(f"{_JAX_TRAINER}:JAXTrainer.jax_state_sync", _HELD),
    Replaced(f"{_JAX_TRAINER}:JAXTrainer.make_train_function", _HELD),
    Replaced(f"{_JAX_TRAINER}:JAXTrainer.make_predict_function", _LATE),
    Replaced(f"{_JAX_TRAINER}:JAXTrainer._make_function", "a label that is no class costs nothing"),
    Replaced(f"{_JAX_TRAINER}:JAXEpochIterator", "Keras' loop takes the input of a strategy"),
    Replaced(f"{_JAX_TRAINER}:pythonify_logs", _LOGS),
    Replaced("keras.src.utils.python_utils:pythonify_logs", _LOGS),
    Replaced("keras.src.trainers.data_adapters:get_data_adapter", "models without a strategy take Datasets"),
    Replaced(f"{_VARIABLE}.assign", f"{_COMBINED}; {_IN_PARTS}"),
    Replaced(f"{_VARIABLE}.__array__", _IN_PARTS),
    Replaced("keras.src.backend.jax.core:JaxVariable._direct_assign", _IN_PARTS),
    Replaced(f"{_VARIABLE}.assign_add", _COMBINED),
    Replaced(f"{_VARIABLE}.assign_sub", _COMBINED),
    Replaced(f"{_OPTIMIZERS}.base_optimizer:BaseOptimizer.apply", _REPLICAS),
    Replaced(
        f"{_OPTIMIZERS}.base_optimizer:BaseOptimizer.__init__",
        "in a model_fn a learning rate may be computed",
    ),
    Replaced(
        f"{_OPTIMIZERS}.base_optimizer:BaseOptimizer.apply_gradients", "in a model_fn it is an operation"
    ),
    Replaced(
        f"{_OPTIMIZERS}.base_optimizer:BaseOptimizer.add_variable_from_reference",
        "slots lie beside their variable on parameter servers",
    ),
    Replaced(
        f"{_OPTIMIZERS}.base_optimizer:BaseOptimizer.load_own_variables",
        "what accumulates gradients has a variable more",
    ),
    Replaced(f"{_OPTIMIZERS}.loss_scale_optimizer:LossScaleOptimizer.apply", _REPLICAS),
    Replaced(
        "keras.src.backend.jax.nn:sparse_categorical_crossentropy", "a label that is no class costs nothing"
    ),
    Replaced("keras.src.backend.jax.numpy:take", "an id of no row gives NaN"),
    *(
        Replaced(f"keras:layers.{name}.__new__", "Keras makes layers of text on TensorFlow only")
        for name in ("HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization")
    ),
    Replaced("keras:utils.FeatureSpace.__new__", "Keras prepares features on TensorFlow only"),
    Replaced("keras:layers.InputLayer.__new__", "on JAX a model can't take text"),
    Replaced("keras.src.backend.jax.numpy:take_along_axis", "an index of no element gives NaN"),
    Replaced(f"{_LOSS}:scale_loss_for_distribution", _REPLICAS),
    Replaced(f"{_LOSS}:unscale_loss_for_distribution", _REPLICAS),
    Replaced(f"{_LOSS}:reduce_values", "a mean over examples is one over those of all replicas"),
    Replaced(f"{_LOSS}:apply_mask", "a mean over examples is one over those of all replicas"),
    Replaced("keras:metrics.Mean.update_state", "one number may stand for several replicas' examples"),
    Replaced(f"{_BATCH_NORMALIZATION}.__init__", "Keras refuses `synchronized=True` on JAX"),
    Replaced(
        f"{_BATCH_NORMALIZATION}.build",
        "its statistics are those of all replicas, of which Keras says nothing",
    ),
    Replaced(
        "keras:layers.SpectralNormalization.build",
        "replicas assign weights alike, of which Keras says nothing",
    ),
    Replaced("keras:layers.RNN.call", "a state for the global batch is divided among the replicas"),
    Replaced(f"{_BATCH_NORMALIZATION}._moments", "synchronized statistics are those of all replicas"),
    Replaced("keras:callbacks.ModelCheckpoint._save_model", _WHOLE),
    Replaced("keras:callbacks.BackupAndRestore._save_model", _WHOLE),
    Replaced("keras.src.saving.saving_lib:is_memory_sufficient", _IN_PARTS),
    *(Replaced(path, "what other tasks change meanwhile is saved as one state") for path in SAVES),
    Replaced("keras:callbacks.TensorBoard.summary", _SUMMARY),
    Replaced("keras:callbacks.TensorBoard._write_keras_model_summary", _SUMMARY),
    Replaced("keras:callbacks.TensorBoard._log_epoch_metrics", "workers' steps may be stale"),
)

_BY_PATH = {replaced.path: replaced for replaced in REPLACED}
# What Keras had at a path, and who has put something in its place there: facts of Keras' modules, not of an object.
_originals: dict[str, Any] = {}
_installed: set[tuple[str, str]] = set()


def install(package: str, replacements: Mapping[str, Callable[[Any], Any]]) -> None:
    """Replace attributes of Keras; what a package has replaced already stays as it is.

    Args:
        package: Who replaces them. Several packages may replace one attribute, each what the one before has put there.
        replacements: For paths of `REPLACED`, a function that takes what is there and returns what takes its place.

    Raises:
        KeyError: If a path is not listed.

    Example:
        >>> from stratax.seams import keras as seam
        >>> seam.install("stratax.demo", {})
    """
    for path, make in replacements.items():
        # Installing twice would wrap the wrapper.
        if (package, path) in _installed:
            continue
        owner, name = _BY_PATH[path].owner()
        # Static: the attribute itself, with its descriptor (property, static method), not what looking it up
        # gives.
        present = inspect.getattr_static(owner, name)
        # The first is Keras'; a second package wraps the replacement of the first.
        _originals.setdefault(path, present)
        setattr(owner, name, make(present))
        _installed.add((package, path))


def functional_of(model: Any) -> Any:
    """Return the functional model that a model is or has inside; None where there is none."""
    return model if isinstance(model, Functional) else getattr(model, "_functional", None)


def original(path: str) -> Any:
    """Return what Keras itself has at a path of `REPLACED`.

    Args:
        path: The path.
    """
    owner, name = _BY_PATH[path].owner()
    return _originals.get(path, inspect.getattr_static(owner, name))


def find_installed() -> frozenset[str]:
    """Return the paths at which something is replaced now."""
    return frozenset(path for _, path in _installed)


# What classes of Keras are given beside what they have, in programs that import `stratax.tf`.


def give_attributes(kind: type, attributes: Mapping[str, Any]) -> None:
    """Give a class of Keras methods and properties that it does not have.

    Args:
        kind: `keras.KerasTensor` or `keras.Variable`.
        attributes: By name: functions of `self`, properties, constants.
    """
    for name, attribute in attributes.items():
        setattr(kind, name, attribute)


def give_shapes(kind: Any, shapes: Callable[[Any], Any]) -> None:
    """Have the objects of a class of Keras give their shapes as a class of tuples.

    Args:
        kind: `keras.KerasTensor` or `keras.Variable`, whose shapes are in `_shape`.
        shapes: Makes such a tuple.
    """
    before: property = inspect.getattr_static(kind, "shape")

    def shape_of(self: Any) -> Any:
        shape = before.fget(self)  # type: ignore[misc]
        return shapes(shape) if type(shape) is tuple else shape

    kind.shape = before.getter(shape_of)
