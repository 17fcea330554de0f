"""`stratax.Variable`: a Keras variable under TensorFlow's signature (core layer)."""

from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.core import known, regions, storage
from stratax.core.state import _creation, _parts, _variable_updates
from stratax.core.variable_options import VariableAggregation, VariableSynchronization


class _VariableClass(type):
    """Has as instances the variables of Keras' layers and optimizers, too: of a program for TensorFlow they are."""

    def __instancecheck__(cls, instance: object) -> bool:
        is_own = super().__instancecheck__(instance)
        return is_own or (cls is Variable and isinstance(instance, keras.Variable))


class Variable(_variable_updates.Updated, metaclass=_VariableClass):
    """A value that a program keeps between steps.

    Follows `tf.Variable`; it is a `keras.Variable`, so layers, optimizers and strategies treat it as one.

    Args:
        initial_value: An array, a number, a nested list, or a function without arguments that gives one. Inside a
            compiled function it is evaluated
            once, on the first call, and can't depend on the function's arguments.
        trainable: Whether optimizers and `GradientTape` see it; by default yes, unless it is synchronized on read.
        name: Its name.
        dtype: Its dtype; by default that of the initial value (Python floats become float32).
        aggregation: How replicas' different values become one: `"none"`, `"sum"`, `"mean"` or
            `"only_first_replica"` (or TensorFlow's `VariableAggregation` members, by name). They do so where replicas
            assign it. With `"none"`, each replica keeps its own value, and everybody else sees the first one's.
        synchronization: `"on_read"`: each replica keeps its own value, and `aggregation` says what everybody else sees.
        autocast: Whether a layer's precision converts what is read.

    Raises:
        BadTypeError: If the initial value is text.
        BadArgumentError: If the initial value depends on a compiled function's arguments, or `aggregation` is unknown.

    Example:
        >>> import stratax as sx
        >>> v = sx.Variable([1.0, 2.0])
        >>> v.assign_add([1.0, 1.0]).numpy().tolist()
        [2.0, 3.0]
    """

    # NumPy's arrays leave arithmetic to the variable: NumPy would compute with its value, which no tape sees.
    __array_priority__ = 100

    def __init__(
        self,
        initial_value: object,
        trainable: bool | None = None,
        *,
        name: str | None = None,
        dtype: object = None,
        aggregation: object = "none",
        synchronization: object = "auto",
        autocast: bool = False,
    ) -> None:
        if _creation.is_made(self):
            return
        value = initial_value() if callable(initial_value) else initial_value
        if isinstance(value, keras.Variable):
            value = value.value
        if isinstance(value, jax.core.Tracer):
            value = _value_now(value)
        # A copy of an array: JAX may share the memory of a NumPy array on CPUs, and the caller may change it.
        array = np.array(value) if isinstance(value, np.ndarray) else np.asarray(value)
        _check_numbers("initial_value", array)
        if isinstance(value, float | complex | list | tuple) and not isinstance(value, np.generic):
            _check_whole(array, dtype)
        # Before Keras converts it: 64-bit numbers would lose their upper half without a word.
        storage.check_fits([array])
        kind = keras.backend.standardize_dtype(dtype) if dtype is not None else _default_dtype(value, array)
        super().__init__(
            lambda shape, dtype: keras.ops.convert_to_tensor(array, jax.dtypes.canonicalize_dtype(dtype)),
            shape=array.shape,
            dtype=kind,
            trainable=_word(synchronization) != "on_read" if trainable is None else trainable,
            name=name,
            aggregation=_check_aggregation(aggregation),
            synchronization=_check_synchronization(synchronization),
            autocast=autocast,
        )
        if self.synchronization == "on_read":
            _parts.mark_kept(self)
        if regions.current_region() is not None:
            regions.note_created(self)
            regions.initialize(self)

    def _convert_to_tensor(self, value: object, dtype: object = None) -> Any:
        # On the CPU, JAX shares the memory of a NumPy array, which may change later.
        own = np.array(value) if isinstance(value, np.ndarray) else value
        # JAX would warn that it computes with 32 bits, each time that such a variable is assigned.
        kind = None if dtype is None else jax.dtypes.canonicalize_dtype(dtype)
        if isinstance(value, str | bytes | np.ndarray):
            _check_numbers("value", np.asarray(value))
            storage.check_fits([value])
        try:
            return super()._convert_to_tensor(own, kind)
        except (TypeError, ValueError):
            # Only nested lists need a look: everything else was checked above.
            if not isinstance(value, list | tuple):
                raise
            _check_numbers("value", np.asarray(value))
            raise

    def numpy(self) -> Any:
        """Return the current value as NumPy's; of a scalar a number, as TensorFlow gives it, which can be a key."""
        return super().numpy()[()]


def _check_whole(array: np.ndarray, dtype: object) -> None:
    """Raise for fractions that a variable of whole numbers would cut off."""
    if dtype is None or np.dtype(keras.backend.standardize_dtype(dtype)).kind not in "biu":
        return
    if array.dtype.kind in "fc" and array.size:
        raise errors.BadTypeError(
            f"A variable of dtype {keras.backend.standardize_dtype(dtype)} does not begin with fractions. Received: "
            f"initial_value={shown(array.tolist())}. Use tf.cast, or leave out dtype."
        )


def _value_now(value: object) -> Any:
    """Return what a traced initial value is, computed now: it may depend on constants and variables only."""
    message = (
        "A variable's initial value can't depend on the arguments of the compiled function that creates it: it "
        "is computed once. Expected: a constant or a function that makes one. Received: "
        f"initial_value={value}. Create the variable with zeros and assign to it."
    )
    try:
        return known.value_now(value)
    except known.NotKeptError as error:
        # The function that is traced is traced anew, keeping how values come about.
        raise (known.NotKeptError if regions.current_region() else errors.BadArgumentError)(
            message
        ) from error
    except LookupError as error:
        raise errors.BadArgumentError(message) from error


def _check_numbers(name: str, value: np.ndarray) -> None:
    """Raise for text, which JAX would refuse in a message that shows all of it."""
    if value.dtype.kind in "SUO":
        raise errors.BadTypeError(
            f"A variable holds numbers. Received: {name}={shown(value)}. Keep text as a Python or NumPy value."
        )


def _check_aggregation(aggregation: object) -> VariableAggregation:
    try:
        return VariableAggregation(_word(aggregation))  # type: ignore[call-arg, arg-type]
    except ValueError:
        words = ", ".join(repr(str.__str__(member)) for member in VariableAggregation)
        raise errors.BadArgumentError(
            f"A variable's aggregation says how the replicas' values become one. Expected: one of {words}. "
            f"Received: aggregation={shown(aggregation)}."
        ) from None


def _check_synchronization(synchronization: object) -> str:
    word = _word(synchronization)
    # What Keras refuses goes on to it as it is.
    return next((member for member in VariableSynchronization if member == word), word)


def _word(option: object) -> str:
    """Return the word of an option given as a string or as a member of one of TensorFlow's enumerations."""
    return str(getattr(option, "name", option)).lower()


def _default_dtype(value: object, array: np.ndarray) -> str:
    if isinstance(value, (np.ndarray, np.generic, jax.Array)):
        return str(jax.dtypes.canonicalize_dtype(array.dtype))
    if array.dtype.kind == "f":
        return "float32"
    # NumPy's defaults for Python's numbers have 64 bits, TensorFlow's have 32.
    return "int32" if array.dtype.kind in "iu" else str(array.dtype)
