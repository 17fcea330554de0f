"""What `compile` settles in Keras 2 and Keras 3 asks for anew: what is trained, and by an optimizer of several models.

A GAN in Keras compiles its discriminator, sets `discriminator.trainable = False`, and compiles both networks as one
model, often with the same optimizer: the first model goes on training the discriminator, the second one does not.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import keras

from stratax.base.surroundings import Slot

# Where a model keeps what `compile` noted.
NOTED = "_compiled_trainable_state"
# The model that is trained now.
TRAINED: Slot[keras.Model | None] = Slot("the model that is trained", None)


class Noted:
    """What is known of a model since it was compiled; no list, or Keras would save it with the model.

    Args:
        layers: Its layers, each with whether it is trained.

    Attributes:
        layers: Likewise.
        served_by: The optimizer that knows all that the model trains, if one does.
    """

    __slots__ = ("layers", "served_by")

    def __init__(self, layers: Sequence[tuple[Any, bool]]) -> None:
        self.layers = layers
        self.served_by: object = None


def note_trainable(model: keras.Model) -> None:
    """Note which layers a model trains that is being compiled.

    Args:
        model: The model.
    """
    # Around Keras' own bookkeeping of attributes.
    model.__dict__[NOTED] = Noted([(layer, layer.trainable) for layer in model._flatten_layers()])


def set_trainable(layers: Sequence[tuple[Any, bool]]) -> None:
    """Have layers be trained, or not.

    Args:
        layers: The layers, each with whether it is trained.
    """
    # Those inside of others come behind them, whose value they get before their own.
    for layer, value in layers:
        layer.trainable = value


def extend_for(model: keras.Model) -> None:
    """Have the optimizer of a model, which is built, know what the model trains; once the model is built, too.

    Args:
        model: The model.
    """
    if model.built:
        _extend(model.optimizer, model.trainable_variables)
        if NOTED in model.__dict__:
            model.__dict__[NOTED].served_by = model.optimizer
        return

    def make_train_function(force: bool = False) -> None:
        # Now it is built.
        del model.__dict__["make_train_function"]
        _extend(model.optimizer, model.trainable_variables)
        model.make_train_function(force)

    model.__dict__["make_train_function"] = make_train_function


def with_more_variables(check: Callable[..., None]) -> Callable[..., None]:
    """Return a check that has an optimizer go on with variables that it was not built for, as Keras 2's do."""

    @functools.wraps(check)
    def _check_variables_are_known(self: Any, variables: Sequence[keras.Variable]) -> None:
        _extend(self, variables)
        check(self, variables)

    return _check_variables_are_known


def of_trained_model(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `stateless_apply` for the variables of the model that is trained, of those that the optimizer knows."""

    @functools.wraps(apply)
    def stateless_apply(
        self: Any,
        optimizer_variables: Sequence[Any],
        grads: Sequence[Any],
        trainable_variables: Sequence[Any],
    ) -> Any:
        model = TRAINED.get()
        own = model.trainable_variables if model is not None and model.optimizer is self else []
        if len(own) != len(trainable_variables) or list(map(id, own)) == list(
            map(id, self._trainable_variables)
        ):
            return apply(self, optimizer_variables, grads, trainable_variables)
        slots = self.variables
        values = [*zip(own, trainable_variables, strict=True), *zip(slots, optimizer_variables, strict=True)]
        with keras.StatelessScope(state_mapping=values) as scope:
            self.apply(grads, own)
        return [scope.get_current_value(each) for each in own], [
            scope.get_current_value(each) for each in slots
        ]

    return stateless_apply


def _extend(optimizer: Any, variables: Sequence[keras.Variable]) -> None:
    """Have an optimizer that is built keep slots for more variables."""
    known = getattr(optimizer, "_trainable_variables_indices", None)
    # Moving averages are of all variables at once: Keras refuses others then.
    if known is None or not optimizer.built or optimizer.use_ema or hasattr(optimizer, "inner_optimizer"):
        return
    more = [variable for variable in variables if id(variable) not in known]
    if not more:
        return
    before, count = dict(vars(optimizer)), len(optimizer._trainable_variables)
    optimizer.built = False
    optimizer.build(more)
    for variable in more:
        known[id(variable)] += count
    for name, value in before.items():
        made = vars(optimizer).get(name)
        if made is value:
            continue
        if isinstance(value, list) and isinstance(made, list):
            setattr(optimizer, name, [*value, *made])
        elif isinstance(value, keras.Variable) and isinstance(made, keras.Variable):
            # One for all variables, which goes on.
            optimizer._untrack_variable(made)
            setattr(optimizer, name, value)
