"""`tf.layers.Layer`: Keras' layer with variables as `tf.get_variable` makes them (v1 layer)."""

import contextlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import jax
import keras

from stratax import errors
from stratax.base.recording import composite
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.tensorflow.ops.calls.described import describe, docstring, parameter, parameters_of
from stratax.tensorflow.v1._current import current, current_or_none
from stratax.tensorflow.v1._variable_defaults import VariableScope
from stratax.tensorflow.v1._variable_scope import get_variable, variable_scope

_REGULARIZATION_LOSSES = "regularization_losses"
# TensorFlow's operations, by the names of functions of Keras and `tf.nn`.
_ACTIVATIONS = {
    name: name.capitalize()
    for name in ("elu", "relu", "relu6", "selu", "sigmoid", "softmax", "softplus", "softsign", "tanh")
}


class Layer(keras.layers.Layer):
    """A layer whose variables belong to the `model_fn`, as `tf.layers.Layer`.

    Its variables have TensorFlow 1's names: they stand in a variable scope of the layer's name, which is made unique
    where the layer has no explicit one. Its regularizers' losses are in the collection ``"regularization_losses"``.

    Args:
        trainable: Whether optimizers see its variables.
        name: Its name; by default that of the class in snake case.
        dtype: Its variables' dtype; by default that of the inputs.
        **kwargs: Those of Keras' layer, and what the functions of `tf.layers` pass: `_scope`, the variable scope or its
            name, and `_reuse`, whether the variables must be there already.

    Example:
        >>> from stratax.v1 import layers
        >>> tuple(layers.Flatten()(keras.ops.ones((2, 3, 4))).shape)
        (2, 12)
    """

    # What TensorFlow calls the operation that gives a layer's result, where it has neither bias nor activation.
    _operation: str | None = None

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: object = None, **kwargs: object
    ) -> None:
        scope, reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        # Inputs and variables have one dtype already, that of the inputs.
        kwargs.setdefault("autocast", False)
        # Keras takes no slashes; in TensorFlow 1 they name scopes.
        super().__init__(
            trainable=trainable, name=None if name is None else name.replace("/", "_"), dtype=dtype, **kwargs
        )
        self._base_name = name or _snake_case(type(self).__name__)
        if name is not None:
            self.name = name
        self._is_dtype_given = dtype is not None
        self._reuse = reuse
        self._model_scope = current_or_none()
        self._variable_scope: VariableScope | None = None
        if scope and self._model_scope is not None:
            with variable_scope(scope) as entered:
                self._variable_scope = entered

    @property
    def scope_name(self) -> str:
        """The full name of its variable scope.

        Raises:
            BadArgumentError: If the layer was not used yet.
        """
        if self._variable_scope is None:
            raise errors.BadArgumentError(
                f"A layer has a variable scope once it is called. Received: {shown(self.name)}, which was not. Call "
                "it first."
            )
        return self._variable_scope.name

    @property
    def updates(self) -> list[Any]:
        """The operations that update its statistics, which are in the collection ``"update_ops"`` as well."""
        return list(self.__dict__.get("_update_operations", ()))

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the layer: the same as calling the object."""
        return self(inputs, *args, **kwargs)

    @composite
    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the layer, in its variable scope.

        Args:
            inputs: What `call` takes.
            *args: What else it takes.
            **kwargs: Likewise; `scope` is the variable scope, or its name, that the layer takes on its first call.

        Raises:
            ModelScopeError: If it has variables and is called in another trace of a `model_fn` than the one that made
                it.
        """
        scope = kwargs.pop("scope", None)
        # TensorFlow 1's layers take their inputs' dtype, where Keras 3's have the global one.
        if not self.built and not self._is_dtype_given:
            self.dtype_policy = keras.DTypePolicy(self._infer_dtype(inputs))
        # Outside of a model_fn it is a layer of Keras.
        if current_or_none() is None:
            return super().__call__(inputs, *args, **kwargs)
        own = self._scope_of_call(scope)
        # A second call shares the variables of the first.
        with variable_scope(own, reuse=self.built or self._reuse):
            result = super().__call__(inputs, *args, **kwargs)
            operation = self._last_operation()
            if operation is not None:
                # Hooks fetch it as `dense/BiasAdd`.
                current().names.give(operation, result)
            return result

    def _infer_dtype(self, inputs: object) -> str:
        # The first floating-point input says it: ids have no say.
        dtypes = [str(getattr(leaf, "dtype", "")) for leaf in jax.tree.leaves(inputs)]
        return next((dtype for dtype in dtypes if "float" in dtype), "float32")

    def _last_operation(self) -> str | None:
        """Return TensorFlow's name of the operation that gives the result, if it is one of the common ones."""
        # What is computed last: the activation, else the bias, else the layer's own.
        activation = getattr(self, "activation", None)
        if activation is not None and activation is not keras.activations.linear:
            return _ACTIVATIONS.get(getattr(activation, "__name__", ""))
        return "BiasAdd" if getattr(self, "use_bias", False) else self._operation

    def _scope_of_call(self, scope: object = None) -> VariableScope:
        # Made in another trace, or outside: as long as it has no variables it can belong to this one.
        if self._model_scope is not current():
            if self.built and self.variables:
                raise errors.ModelScopeError(
                    "A layer belongs to one trace of a `model_fn`. Expected: a layer that is made inside of it. "
                    f"Received: {shown(self.name)}, made outside or by an earlier call. Make it in the `model_fn`."
                )
            self._model_scope, self._variable_scope = current(), None
        if self._variable_scope is None:
            # An explicit name is made unique as well, but for functions, which have entered their scope already.
            entering = (
                variable_scope(scope if scope is not None else self._base_name)
                if self._reuse
                else variable_scope(scope, default_name=self._base_name)
            )
            with entering as entered:
                self._variable_scope = entered
        return self._variable_scope

    def add_weight(
        self,
        name: str | None = None,
        shape: object = (),
        dtype: object = None,
        initializer: object = None,
        regularizer: object = None,
        trainable: bool | None = None,
        constraint: object = None,
        **others: object,
    ) -> Any:
        """Return a variable of the layer, made on the first call and shared where its scope says so.

        Args:
            name: Its name, below the layer's.
            shape: Its shape.
            dtype: Its dtype; by default the layer's.
            initializer: Gives its first value; by default the variable scope's.
            regularizer: Gives a loss of its value, which goes to the collection ``"regularization_losses"``.
            trainable: Whether optimizers see it.
            constraint: Applied after each update of an optimizer.
            **others: Ignored.
        """
        scope = current_or_none()
        if scope is None:
            return super().add_weight(
                shape=shape,
                initializer=initializer,
                dtype=dtype,
                trainable=trainable is not False,
                regularizer=regularizer,
                constraint=constraint,
                name=name,
            )
        # A variable that is shared has its regularizer's loss already.
        present = {id(variable) for variable in scope.global_variables()}
        with variable_scope(self._scope_of_call(), reuse=self.built or self._reuse):
            variable = get_variable(
                name or "variable",
                shape,
                dtype=dtype or self.variable_dtype,
                initializer=_keras_object(keras.initializers, initializer),
                trainable=trainable is not False and self.trainable,
                constraint=_keras_object(keras.constraints, constraint),
            )
        # A getter of the scope may give what it has computed of the variable, such as its value in bfloat16.
        if isinstance(variable, keras.Variable):
            self._track_variable(variable)
        if regularizer is not None and id(variable) not in present:
            value = variable.value if isinstance(variable, keras.Variable) else variable
            self.add_loss(_keras_object(keras.regularizers, regularizer)(value))
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """Return a variable, as `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def add_loss(self, loss: object, inputs: object = None) -> None:
        """Add to the layer's losses, and to the collection ``"regularization_losses"``.

        Args:
            loss: A scalar, a function that gives one, or a list of them; None is passed over.
            inputs: Ignored.
        """
        losses = [each() if callable(each) else each for each in keras.tree.flatten(loss)]
        # A regularizer may have nothing to say: `no_regularizer`, or one with a scale of 0.
        losses = [each for each in losses if each is not None]
        super().add_loss(losses)
        scope = current_or_none()
        if scope is not None:
            for each in losses:
                scope.collections.add(_REGULARIZATION_LOSSES, each)

    def add_update(self, updates: object, inputs: object = None) -> None:
        """Add operations that update the layer's statistics to the collection ``"update_ops"``.

        Args:
            updates: An operation or a list of them.
            inputs: Ignored.
        """
        for update in updates if isinstance(updates, list | tuple) else [updates]:
            # Past Keras' bookkeeping, which wraps lists in attributes.
            self.__dict__.setdefault("_update_operations", []).append(update)
            current().collections.add("update_ops", update)

    def _open_name_scope(self) -> Any:
        # What Keras creates in the layer is named below the variable scope, which has the layer's name already.
        return contextlib.nullcontext()


def _snake_case(name: str) -> str:
    """Return `Conv2DTranspose` as `conv2d_transpose` and `BasicLSTMCell` as `basic_lstm_cell`."""
    # A word that begins with a capital is set apart first, then what is left between small letters and capitals.
    apart = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", apart).lower()


def _keras_object(module: Any, identifier: Any) -> Any:
    """Return what a string or a configuration of Keras stands for; all else as it is."""
    return module.get(identifier) if isinstance(identifier, str | dict) else identifier


# What functions of `tf.layers` are given beside their layer's arguments.
_OF_CALLS = {
    "inputs": (parameter("inputs", TensorLike), "The layer's inputs."),
    "training": (
        parameter("training", Any, False),
        "Whether it is the batch's statistics that are taken: a boolean or a tensor of one.",
    ),
    "reuse": (
        parameter("reuse", object, None),
        "Whether the variables of `name` must be there already (True) or may be (`tf.AUTO_REUSE`).",
    ),
}


def functional(
    layer: type[Layer], name: str, *, is_shared: bool = True, order: str | None = None
) -> Callable[..., Any]:
    """Return the function of `tf.layers` that makes a layer and calls it.

    Args:
        layer: The layer's class.
        name: The function's name.
        is_shared: Whether it has variables, and so the argument `reuse`.
        order: The names of its arguments; by default `inputs`, the layer's own and `reuse`. With `training` among
            them, that is passed on to the call.
    """
    # Without `self`, and without what the class passes on.
    own = [each for each in parameters_of(layer.__init__)[1:] if each.kind is not each.VAR_KEYWORD]
    by_name = {each.name: each for each in (*own, *(added for added, _ in _OF_CALLS.values()))}
    last = ["reuse"] if is_shared else []
    names = order.split() if order else ["inputs", *(each.name for each in own), *last]
    signature = inspect.Signature([by_name[each] for each in names], return_annotation=Any)

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise errors.BadTypeError(
                f"tf.layers.{name}: {error}. Expected: {', '.join(signature.parameters)}."
            ) from None
        if is_shared:
            # Variables of its own on each call would be no model.
            current()
        inputs, reuse = given.pop("inputs"), given.pop("reuse", None)
        called = {"training": given.pop("training")} if "training" in given else {}
        return layer(**given, _scope=given.get("name"), _reuse=reuse).apply(inputs, **called)

    what = f"Make a :class:`{layer.__name__}` and call it, as `tf.layers.{name}`"
    described = {each: _OF_CALLS[each][1] for each in names if each in _OF_CALLS}
    doc = (
        docstring(f"{what}.", {"Args": described})
        + f"\n\nThe other arguments are those of :class:`{layer.__name__}`."
        if is_shared
        else f"{what}, which has the same arguments."
    )
    describe(function, name, layer.__module__, signature, doc)
    return function
