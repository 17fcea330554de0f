"""Optimizers that a program writes by the rules of Keras 2's `OptimizerV2`, on Keras 3's (keras2 layer).

Such a class inherits from `tf.keras.optimizers.Optimizer` or from one of its kind, and says in
`_resource_apply_dense` what a gradient does to a variable. Keras 3 calls `update_step` instead; what is here calls the
one from the other, and gives the methods that such classes use (as keras/optimizers/legacy/optimizer_v2.py, 2.15).
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import keras
from keras import ops
from keras.optimizers.schedules import LearningRateSchedule

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.core import regions
from stratax.errors import BadArgumentError

# By these a class is told that follows the rules of Keras 2.
_RULES = ("_resource_apply_dense", "_resource_apply", "_create_slots", "_prepare_local", "get_updates")
_CLIPPING = ("clipnorm", "clipvalue", "global_clipnorm")
# Where Keras 3's optimizers keep what Keras 2's call slots.
_LISTS = {"m": ("_momentums", "_m"), "v": ("_velocities", "_u"), "momentum": ("momentums", "_momentums")}


class OptimizerV2(keras.optimizers.Optimizer):
    """The base of a program's own optimizer, as `tf.keras.optimizers.legacy.Optimizer`.

    A subclass sets its numbers by `_set_hyper` and overrides `_resource_apply_dense(grad, var, apply_state=None)`,
    mostly `_create_slots(var_list)` and `_prepare_local(var_device, var_dtype, apply_state)` as well.

    Args:
        name: The optimizer's name.
        **kwargs: `lr`, `decay`, `clipnorm`, `clipvalue` and `global_clipnorm`.

    Raises:
        BadArgumentError: If there are other arguments, or `decay` is negative.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        others = sorted(set(kwargs) - {"lr", "decay", *_CLIPPING})
        if others:
            raise BadArgumentError(
                f"OptimizerV2 takes the arguments lr, decay, {', '.join(_CLIPPING)}. Received: {', '.join(others)}."
            )
        self._begin(kwargs.pop("decay", 0.0) or 0.0)
        rate = kwargs.pop("lr", 0.001)
        super().__init__(learning_rate=rate, name=name, **kwargs)

    def _begin(self, decay: float) -> None:
        if decay < 0:
            raise BadArgumentError(f"decay must not be negative. Received: decay={shown(decay)}.")
        # Past Keras' own bookkeeping, which would take them for the optimizer's state.
        self.__dict__.update(_hyper={}, _slots={}, _slot_names=[], _initial_decay=decay, _use_locking=True)

    @property
    def _name(self) -> str:
        return str(self.name)

    def __getattr__(self, name: str) -> Any:
        hyper = vars(self).get("_hyper", {})
        if name in hyper:
            return self._get_hyper(name)
        raise AttributeError(f"{shown(self)} has no attribute {shown(name)}.", name=name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self).get("_hyper", {}):
            self._set_hyper(name, value)
            return
        super().__setattr__(name, value)

    def _set_hyper(self, name: str, value: object) -> None:
        """Set one of the optimizer's numbers: a number, a tensor, a schedule or a function without arguments."""
        if name == "learning_rate":
            self.learning_rate = value
            return
        kept = self._hyper.get(name)
        if isinstance(kept, keras.Variable) and not callable(value):
            kept.assign(value)
        else:
            self._hyper[name] = value

    def _get_hyper(self, name: str, dtype: DTypeLike | None = None) -> Any:
        if name == "learning_rate":
            kept = self._learning_rate
        else:
            # What Keras 3's own optimizers are made of are attributes.
            kept = self._hyper[name] if name in self._hyper else getattr(self, name)
        if isinstance(kept, LearningRateSchedule):
            return kept
        value = kept() if callable(kept) else kept
        return value if dtype is None else ops.cast(value, _name_of(dtype))

    def _serialize_hyperparameter(self, name: str) -> Any:
        value = self._get_hyper(name)
        if isinstance(value, LearningRateSchedule):
            return keras.optimizers.schedules.serialize(value)
        return (
            float(ops.convert_to_numpy(value)) if ops.is_tensor(value) or hasattr(value, "assign") else value
        )

    def _create_hypers(self) -> None:
        """Make variables of the numbers, so that a step that is compiled sees a later value."""
        for name, value in self._hyper.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                # Of the optimizer's own, or Keras' steps would take their values for constants.
                self._hyper[name] = self.add_variable(
                    (),
                    keras.initializers.Constant(value),
                    dtype="float32",
                    aggregation="only_first_replica",
                    name=name,
                )

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Make the numbers' variables and the slots.

        Args:
            variables: The variables that are trained.
        """
        if self.built:
            return
        super().build(variables)
        self._begin_state(variables)

    def _begin_state(self, variables: Sequence[keras.Variable]) -> None:
        # The first step may be one that is compiled; what a subclass computes here are first values.
        with regions.outside_scopes():
            self._create_hypers()
            self._create_slots(variables)

    def _create_all_weights(self, var_list: Sequence[keras.Variable]) -> None:
        self.build(list(var_list))

    def _create_slots(self, var_list: Sequence[keras.Variable]) -> None:
        """Make the slots of variables; a subclass calls `add_slot` here."""

    def add_slot(
        self,
        var: keras.Variable,
        slot_name: str,
        initializer: Any = "zeros",
        shape: Sequence[int] | None = None,
    ) -> Any:
        """Return a variable's slot, made at the first call.

        Args:
            var: The variable.
            slot_name: What the slot is called, as `"m"`.
            initializer: Of the first value: a name, a function of shape and dtype, or the value itself.
            shape: The slot's shape; None for the variable's.
        """
        if slot_name not in self._slot_names:
            self._slot_names.append(slot_name)
        slots = self._slots.setdefault(id(var), {})
        if slot_name not in slots:
            if not (isinstance(initializer, str) or callable(initializer)):
                initializer = functools.partial(_give, initializer)
            if shape is None:
                slots[slot_name] = self.add_variable_from_reference(var, slot_name, initializer)
            else:
                slots[slot_name] = self.add_variable(tuple(shape), initializer, var.dtype, name=slot_name)
        return slots[slot_name]

    def get_slot(self, var: keras.Variable, slot_name: str) -> Any:
        """Return a variable's slot.

        Raises:
            KeyError: If there is none of this name.
        """
        slots = self._slots.get(id(var), {})
        if slot_name in slots:
            return slots[slot_name]
        for place in _LISTS.get(slot_name, ()):
            if hasattr(self, place):
                return getattr(self, place)[self._get_variable_index(var)]
        raise KeyError(slot_name)

    def get_slot_names(self) -> list[str]:
        """Return the names of all slots."""
        return list(self._slot_names)

    def _decayed_lr(self, var_dtype: DTypeLike) -> Any:
        dtype = _name_of(var_dtype)
        rate = self._get_hyper("learning_rate")
        step = ops.cast(self.iterations, dtype)
        rate = ops.cast(rate(step) if isinstance(rate, LearningRateSchedule) else rate, dtype)
        return rate / (1 + ops.cast(self._initial_decay, dtype) * step) if self._initial_decay else rate

    def _prepare(self, var_list: Iterable[keras.Variable]) -> dict[Any, dict[str, Any]]:
        state: dict[Any, dict[str, Any]] = {}
        for device, dtype in {_place_of(variable): None for variable in var_list}:
            state[(device, dtype)] = {}
            self._prepare_local(device, dtype, state)
        return state

    def _prepare_local(self, var_device: str, var_dtype: DTypeLike, apply_state: dict[Any, Any]) -> None:
        """Compute what all variables of one dtype share in a step."""
        # Keras 3's optimizers are made with a rate, a program's own may have none.
        apply_state[(var_device, var_dtype)]["lr_t"] = self._decayed_lr(var_dtype)

    def _fallback_apply_state(self, var_device: str, var_dtype: DTypeLike) -> Any:
        state: dict[Any, dict[str, Any]] = {(var_device, var_dtype): {}}
        self._prepare_local(var_device, var_dtype, state)
        return state[(var_device, var_dtype)]

    def update_step(self, gradient: TensorLike, variable: keras.Variable, learning_rate: TensorLike) -> None:
        """Change a variable by its gradient, as the subclass says in `_resource_apply_dense`.

        Args:
            gradient: The gradient of the loss, of the variable's shape.
            variable: The variable.
            learning_rate: Is not used: the class computes its own.
        """
        takes_state = "apply_state" in _parameters(type(self)._resource_apply_dense)
        state = {"apply_state": self._prepare([variable])} if takes_state else {}
        self._resource_apply_dense(gradient, variable, **state)

    def _resource_apply_dense(self, grad: TensorLike, var: keras.Variable, apply_state: object = None) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} must say in _resource_apply_dense what a gradient does."
        )

    def get_config(self) -> dict[str, Any]:
        """Return the name and the clipping; a subclass adds its numbers."""
        clipping = {key: getattr(self, key) for key in _CLIPPING}
        return {"name": self.name, **{key: value for key, value in clipping.items() if value is not None}}


def adopt(cls: type[keras.optimizers.Optimizer]) -> None:
    """Give a class that follows the rules of Keras 2 the bases for them, in the place of Keras 3's.

    Args:
        cls: A subclass of an optimizer of Keras 3; others than those of Keras 2's rules stay as they are.
    """
    # Also where they come from a class beside the optimizer, which knows nothing of Keras.
    if not issubclass(cls, OptimizerV2) and any(hasattr(cls, rule) for rule in _RULES):
        cls.__bases__ = tuple(_base_of_rules(base) for base in cls.__bases__)


def _base_of_rules(base: type) -> type:
    if not issubclass(base, keras.optimizers.Optimizer) or issubclass(base, OptimizerV2):
        return base
    if base is keras.optimizers.Optimizer:
        return OptimizerV2
    return _by_the_rules(base)  # type: ignore[arg-type]


@functools.cache
def _by_the_rules(base: type[Any]) -> type:
    """Make a class that is an optimizer of Keras 3, and has the methods of Keras 2's."""

    def begin(self: Any, *args: Any, decay: float = 0.0, **kwargs: Any) -> None:
        self._begin(decay)
        base.__init__(self, *args, **kwargs)

    def build(self: Any, variables: Sequence[keras.Variable]) -> None:
        if not self.built:
            base.build(self, variables)
            self._begin_state(variables)

    def apply_dense(self: Any, grad: TensorLike, var: keras.Variable, apply_state: Any = None) -> None:
        base.update_step(self, grad, var, self._decayed_lr(var.dtype))

    methods = {
        "__init__": begin,
        "build": build,
        "_resource_apply_dense": apply_dense,
        "get_config": base.get_config,
    }
    return type(base.__name__, (OptimizerV2, base), methods)


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    # One that is wrapped, or takes keywords, says nothing: it takes all.
    if code is None or code.co_flags & 0x08:
        return ("apply_state",)
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _give(value: object, shape: object, dtype: object = None) -> Any:
    return ops.convert_to_tensor(value, dtype)


def _name_of(dtype: object) -> Any:
    return keras.backend.standardize_dtype(getattr(dtype, "name", dtype))


def _place_of(variable: Any) -> tuple[Any, Any]:
    """Return what Keras 2's optimizers take for a key: the device and the dtype, as they read them of a variable."""
    dtype = variable.dtype
    return getattr(variable, "device", ""), getattr(dtype, "base_dtype", dtype)
