"""What TensorFlow 1's optimizers have in common: gradients, slots, and the operation that applies them (v1 layer)."""

from collections.abc import Callable, Iterable, Iterator, Sequence, ValuesView
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax.base.recording import composite
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.core import GradientTape, regions
from stratax.distribute import ReduceOp
from stratax.distribute.keras_hooks import apply_once, reduce_gradients
from stratax.distribute.replicas import get_replica_context, syncing_replicas
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.v1._current import current_or_none
from stratax.tensorflow.v1._keras_form import KerasForm
from stratax.tensorflow.v1._made_now import make_now
from stratax.tensorflow.v1._operation import operations_of
from stratax.tensorflow.v1._operations import assign_add, control_dependencies
from stratax.tensorflow.v1._own_rules import OwnRules, make_slot
from stratax.tensorflow.v1._rules import Numbers, Rule
from stratax.tensorflow.v1.scopes import Scope

# A number, an array, a variable, or a function without arguments that gives one.
Number = Any
GradsAndVars = Iterable[tuple[Any, keras.Variable]]


class Optimizer(OwnRules, regions.KeepsSlots):
    """The base class of TensorFlow 1's optimizers, as `tf.compat.v1.train.Optimizer`.

    An optimizer of your own overrides `compute_gradients`, `apply_gradients` or, for each gradient, `_apply_dense` or
    `_resource_apply_dense`; see `OwnRules`.

    Args:
        use_locking: Ignored: nothing else changes variables meanwhile.
        name: The name of its slots and of the operation that applies gradients.

    Raises:
        BadArgumentError: If there is no name.
    """

    # TensorFlow's numbers; gates mean nothing where XLA orders what is computed.
    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise BadArgumentError(f"Must specify the optimizer name. Received: name={shown(name)}.")
        self._use_locking = use_locking
        self._name = name
        self._rule: Rule | None = None
        self._is_by_row = False
        self._keeps_slots_by_row = True
        self._numbers: dict[str, Number] = {}
        # By slot: the name that it has in checkpoints, and its first value.
        self._slot_kinds: dict[str, tuple[str, float]] = {}
        # Of which numbers powers are kept, such as Adam's betas.
        self._powers: dict[str, Number] = {}
        # Of the trace whose variables these are: each has slots of its own.
        self._scope: Scope | None = None
        self._slots: dict[str, dict[int, keras.Variable]] = {}
        self._shared: dict[str, keras.Variable] = {}
        # What `compute_gradients` has combined over replicas.
        self._reduced: list[Any] = []
        self._form: KerasForm | None = None

    def _keras_form(self) -> KerasForm:
        """Return the optimizer as Keras takes one: the same at each call.

        Raises:
            BadTypeError: If the optimizer has no arithmetic of one variable.
        """
        if self._form is None:
            firsts = {slot: first for slot, (_, first) in self._slot_kinds.items()}
            self._form = KerasForm(self._require_rule(), self._numbers, firsts, self._powers, self._name)
        return self._form

    def _require_rule(self) -> Rule:
        if self._rule is None:
            raise BadTypeError(
                f"{type(self).__name__} does not say how it changes a variable. Expected: one of TensorFlow 1's "
                "optimizers, or a subclass that overrides apply_gradients."
            )
        return self._rule

    def _set_rule(
        self,
        rule: Rule,
        numbers: dict[str, Number],
        slots: dict[str, float] | None = None,
        *,
        powers: dict[str, Number] | None = None,
        slot_names: dict[str, str] | None = None,
        is_by_row: bool = False,
        keeps_slots_by_row: bool = True,
    ) -> None:
        """Say how the optimizer changes a variable.

        Args:
            rule: The arithmetic of one variable.
            numbers: What `rule` takes beside the variable; functions are called when gradients are applied.
            slots: The slots of each variable, with their first values.
            powers: Of which of the numbers `rule` takes the power of the step's number, as `NAME_power`.
            slot_names: What slots are called in checkpoints, where not as the optimizer.
            is_by_row: Whether rows that a gradient does not consist of stay as they are, with their slots, although the
                rule would change them where the gradient is zero.
            keeps_slots_by_row: Whether their slots do so, too, where `is_by_row`.
        """
        self._rule = rule
        self._numbers = numbers
        names = slot_names or {}
        self._slot_kinds = {
            slot: (names.get(slot, self._name), first) for slot, first in (slots or {}).items()
        }
        self._powers = powers or {}
        self._is_by_row = is_by_row
        self._keeps_slots_by_row = keeps_slots_by_row

    def _rule_of(self, variable: keras.Variable, *, is_by_row: bool) -> Rule | None:
        """Return the arithmetic of one variable.

        Args:
            variable: The variable.
            is_by_row: Whether its gradient consists of rows.
        """
        return self._rule

    def get_name(self) -> str:
        """Return the name under which its slots are kept."""
        return self._name

    def minimize(
        self,
        loss: object,
        global_step: keras.Variable | None = None,
        var_list: object = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Any:
        """Return the operation that makes one step towards a smaller loss; outside of a `model_fn`, make it.

        Args:
            loss: A scalar of the `model_fn`, or a function that computes one.
            global_step: A variable that the operation counts up; None for none.
            var_list: The variables, in any nested structure; by default all that are trained.
            gate_gradients: `GATE_NONE`, `GATE_OP` or `GATE_GRAPH`; ignored.
            aggregation_method: Ignored.
            colocate_gradients_with_ops: Ignored.
            name: The operation's name.
            grad_loss: The gradient of the loss; by default 1.

        Raises:
            BadArgumentError: If the loss depends on none of the variables, there is none, or outside of a `model_fn`
                `loss` is no function.
        """
        pairs = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        _check_gradients(pairs)
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: object,
        var_list: object = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> list[tuple[Any, keras.Variable]]:
        """Return the gradient of a loss for each variable.

        On several replicas these are the whole batch's, so that what is done to them before they are applied, such
        as clipping, is what one device does. TensorFlow's are the replica's own.

        Args:
            loss: A scalar of the `model_fn`, or a function that computes one.
            var_list: The variables, in any nested structure; by default all that are trained.
            gate_gradients: `GATE_NONE`, `GATE_OP` or `GATE_GRAPH`; ignored.
            aggregation_method: Ignored.
            colocate_gradients_with_ops: Ignored.
            grad_loss: The gradient of the loss; by default 1.

        Returns:
            Pairs of gradient and variable; None is the gradient for a variable that the loss does not depend on.

        Raises:
            BadArgumentError: If there is no variable, the loss is no floating-point number, or outside of a `model_fn`
                `loss` is no function.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise BadArgumentError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH. "
                f"Received: gate_gradients={shown(gate_gradients)}."
            )
        scope = self._enter_scope()
        if scope is None:
            return _gradients_now(loss, var_list, grad_loss)
        # TensorFlow takes functions in graphs, too.
        value = loss() if callable(loss) else loss
        _check_loss(value)
        variables = scope.trainable_variables() if var_list is None else _flat(var_list)
        if not variables:
            raise BadArgumentError(
                "No variables to optimize. Expected: trainable variables in the model_fn, or some in var_list. "
                f"Received: var_list={shown(var_list)}."
            )
        gradients = own = scope.derivatives.gradients(
            value, variables, None if grad_loss is None else [grad_loss]
        )
        syncing, replica = syncing_replicas(), get_replica_context()
        if syncing is not None and syncing.averages_gradients:
            # Means of what is equal on all replicas: computed again, they stay the same.
            gradients = scope.values.as_one(lambda: reduce_gradients(own))
            self._reduced += gradients
        elif replica is not None and replica.stands_for > 1:
            # The results of the trace are as many as where all replicas compute.
            gradients = scope.values.as_one(lambda: _copies(own))
        for gradient, made in zip(own, gradients, strict=True):
            scope.derivatives.note_same_rows(made, gradient)
        return list(zip(gradients, variables, strict=True))

    @composite
    def apply_gradients(
        self, grads_and_vars: GradsAndVars, global_step: keras.Variable | None = None, name: str | None = None
    ) -> Any:
        """Return the operation that changes variables by their gradients, which are combined over replicas first.

        Outside of a `model_fn` they are changed at once, and None is returned.

        Args:
            grads_and_vars: Pairs of gradient and variable; those without a gradient are passed over.
            global_step: A variable that the operation counts up; None for none.
            name: The operation's name.

        Raises:
            BadArgumentError: If there is no gradient.
            BadTypeError: If the optimizer has no arithmetic: a subclass of :class:`Optimizer` has to override this.
            ModelScopeError: If it is called outside of a `model_fn`.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise BadArgumentError("No variables provided. Expected: pairs of gradient and variable.")
        _check_gradients(pairs)
        # A program's own subclass says what a gradient does to a variable in methods of TensorFlow's names.
        own_rule = None if self._rule is not None else self._find_rule()
        if own_rule is None:
            self._require_rule()
        scope = self._enter_scope()
        present = [pair for pair in pairs if pair[0] is not None]
        # What `compute_gradients` has combined must not be added up over the replicas again.
        reduced = {id(gradient) for gradient in self._reduced}
        is_reduced = all(id(gradient) in reduced for gradient, _ in present)
        gradients, variables = [on_device(pair[0]) for pair in present], [pair[1] for pair in present]
        if own_rule is not None:
            return self._apply_own(own_rule, gradients, variables, global_step, name, is_reduced=is_reduced)
        rows = [
            scope.derivatives.rows_of(pair[0]) if self._is_by_row and scope is not None else None
            for pair in present
        ]
        self._make_slots(scope, variables)
        # Here, where the program calls the optimizer, and not where the operation runs: a rate may be a tensor of this
        # place.
        numbers = {key: on_device(_call(number)) for key, number in self._numbers.items()}

        def update() -> None:
            own = gradients if is_reduced else reduce_gradients(gradients)
            self._apply(own, variables, numbers, global_step, of_all_replicas(rows))

        if scope is None:
            update()
            return None
        # Updates of batch statistics, for instance, that gradients were computed behind.
        inputs = operations_of([gradients, list(numbers.values())])
        operation = scope.operation(update, name=name or self._name, inputs=inputs)
        scope.collections.add("train_op", operation)
        return operation

    def _apply_own(
        self,
        rule: Callable[[Any, keras.Variable], Any],
        gradients: list[Any],
        variables: list[keras.Variable],
        global_step: keras.Variable | None,
        name: str | None,
        *,
        is_reduced: bool,
    ) -> Any:
        """Apply gradients as a subclass says of each."""
        scope = self._scope
        # A program's own rules know nothing of replicas: they get gradients that are combined.
        if not is_reduced:
            local = gradients
            gradients = (
                reduce_gradients(local)
                if scope is None
                else scope.values.as_one(lambda: reduce_gradients(local))
            )
        # In the order in which TensorFlow calls these methods.
        self._create_slots(variables)
        self._prepare()
        updates = [rule(gradient, variable) for gradient, variable in zip(gradients, variables, strict=True)]
        done = self._finish(updates, name or self._name)
        if global_step is not None:
            with control_dependencies([done]):
                done = assign_add(global_step, 1, name=name or self._name)
        if scope is not None:
            scope.collections.add("train_op", done)
        return done

    def get_slot(self, var: keras.Variable, name: str) -> keras.Variable | None:
        """Return a variable that is kept for another one, or None.

        Args:
            var: The other one.
            name: The slot's name, of those that :meth:`get_slot_names` gives.
        """
        return self._slots.get(name, {}).get(id(var))

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots that were made, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[keras.Variable]:
        """Return the optimizer's own variables, sorted by their names."""
        found = [*self._shared.values(), *(slot for slots in self._slots.values() for slot in slots.values())]
        return sorted(found, key=lambda variable: variable.path)

    def _enter_scope(self) -> Scope | None:
        """Return the scope of the trace, if any; in another one than before, the optimizer starts without slots."""
        scope = current_or_none()
        # Slots are found again by their names, in the model's state.
        if scope is not self._scope:
            self._scope, self._slots, self._shared, self._reduced = scope, {}, {}, []
        return scope

    def _make_slots(self, scope: Scope | None, variables: Sequence[keras.Variable]) -> None:
        if scope is None:
            self._make_slots_now(variables)
            return
        for key, number in self._powers.items():
            if f"{key}_power" not in self._shared:
                # `beta1_power`, and `beta1_power_1` of a second optimizer, as in TensorFlow's checkpoints.
                path = scope.names.unique(f"{key}_power")
                self._shared[f"{key}_power"] = scope.make_variable(
                    path, (), initializer=_constant(_call(number))
                )
        for variable in variables:
            for slot, (called, first) in self._slot_kinds.items():
                own = self._slots.setdefault(slot, {})
                if id(variable) not in own:
                    path = scope.slot_path(variable.path, slot, called)
                    own[id(variable)] = make_slot(scope, variable, path, _constant(first))

    def _make_slots_now(self, variables: Sequence[keras.Variable]) -> None:
        for key, number in self._powers.items():
            if f"{key}_power" not in self._shared:
                first = np.asarray(_call(number), variables[0].dtype)
                # It belongs to no variable: it lies where the first one does.
                self._shared[f"{key}_power"] = make_now(variables[0], first, f"{key}_power")
        for variable in variables:
            for slot, (_, first_value) in self._slot_kinds.items():
                own = self._slots.setdefault(slot, {})
                if id(variable) not in own:
                    value = np.full(variable.shape, first_value, variable.dtype)
                    own[id(variable)] = make_now(variable, value, slot)

    def _apply(
        self,
        gradients: list[Any],
        variables: list[keras.Variable],
        numbers: Numbers,
        global_step: keras.Variable | None,
        rows: list[Any],
    ) -> None:
        names, by_row = list(numbers), [mask is not None for mask in rows]
        slots = [{name: own[id(variable)] for name, own in self._slots.items()} for variable in variables]
        shared, powers = dict(self._shared), list(self._powers)
        rules = [
            self._rule_of(variable, is_by_row=each) for variable, each in zip(variables, by_row, strict=True)
        ]
        keeps_slots = self._keeps_slots_by_row

        # It may run later, once for all replicas: its arrays come in the order in which they are given below.
        def make(arrays: list[Any]) -> None:
            given = iter(arrays)
            own_gradients = [next(given) for _ in variables]
            masks = [next(given) if is_by_row else None for is_by_row in by_row]
            values = dict(zip(names, given, strict=True))
            values |= {name: variable.value for name, variable in shared.items()}
            for rule, gradient, variable, own, mask in zip(
                rules, own_gradients, variables, slots, masks, strict=True
            ):
                _change(rule, gradient, variable, own, values, mask, keeps_slots=keeps_slots)
            for key in powers:
                name = f"{key}_power"
                keras.Variable.assign(shared[name], values[name] * values[key])
            if global_step is not None:
                keras.Variable.assign(global_step, global_step.value + 1)

        changed = [*variables, *shared.values(), *(slot for own in slots for slot in own.values())]
        changed += [] if global_step is None else [global_step]
        masks = [mask for mask in rows if mask is not None]
        apply_once([*gradients, *masks, *numbers.values()], make, changed)


def _change(
    rule: Any,
    gradient: Any,
    variable: keras.Variable,
    slots: dict[str, keras.Variable],
    numbers: Numbers,
    rows: Any,
    *,
    keeps_slots: bool,
) -> None:
    dtype = variable.dtype
    before, before_slots = variable.value, {name: slot.value for name, slot in slots.items()}
    value, changed = rule(
        before,
        before_slots,
        # All in the dtype of the variable, in which TensorFlow's kernels compute.
        gradient.astype(dtype),
        {name: number.astype(dtype) for name, number in numbers.items()},
    )

    value = keep_others(rows, value, before)
    constraint = variable.constraint
    keras.Variable.assign(variable, value if constraint is None else constraint(value))
    for name, slot in slots.items():
        new = changed[name]
        keras.Variable.assign(slot, keep_others(rows, new, before_slots[name]) if keeps_slots else new)


def keep_others(rows: Any, new: Any, old: Any) -> Any:
    """Return a new value with the old one's rows where a mask, (rows,), does not hold; all of it if there is none."""
    return new if rows is None else jnp.where(jnp.reshape(rows, (-1, *(1,) * (old.ndim - 1))), new, old)


def of_all_replicas(rows: list[Any]) -> list[Any]:
    """Return which rows any of the replicas has touched."""
    replicas = syncing_replicas()
    if replicas is None or all(mask is None for mask in rows):
        return rows
    # As numbers, since truth values can't be added up.
    counts = iter(
        replicas.all_reduce(ReduceOp.SUM, [mask.astype("float32") for mask in rows if mask is not None])
    )
    return [None if mask is None else next(counts) > 0 for mask in rows]


def _copies(gradients: list[Any]) -> list[Any]:
    return [None if gradient is None else jnp.array(gradient, copy=True) for gradient in gradients]


def _constant(value: Any) -> Callable[..., Any]:
    return lambda shape, dtype: jnp.full(shape, value, dtype)


def _gradients_now(loss: object, var_list: object, grad_loss: object) -> list[tuple[Any, keras.Variable]]:
    if not callable(loss):
        raise BadArgumentError(
            "`loss` passed to Optimizer.compute_gradients should be a function outside of a `model_fn`. Received: "
            f"loss={shown(loss)}. Pass one without arguments."
        )
    with GradientTape() as tape:
        value = loss()
    _check_loss(value)
    # What the loss has read, and is trained.
    variables = list(tape.watched_variables()) if var_list is None else _flat(var_list)
    return list(zip(tape.gradient(value, variables, grad_loss), variables, strict=True))


def _call(number: Number) -> Any:
    return number() if callable(number) else number


def _flat(variables: object) -> list[keras.Variable]:
    # The values of a dictionary, and what gives one after the other, are no structures of JAX.
    given = list(variables) if isinstance(variables, ValuesView | Iterator) else variables
    return jax.tree.leaves(given, is_leaf=lambda each: isinstance(each, keras.Variable))


def _check_gradients(pairs: Sequence[tuple[Any, keras.Variable]]) -> None:
    if all(gradient is None for gradient, _ in pairs):
        paths = [getattr(variable, "path", variable) for _, variable in pairs]
        raise BadArgumentError(
            "No gradients provided for any variable. Expected: a loss that depends on one of the variables, through "
            f"operations that have gradients. Received: variables {shown(paths)}."
        )


def _check_loss(loss: object) -> None:
    dtype = getattr(loss, "dtype", None)
    if dtype is None or not jnp.issubdtype(dtype, jnp.floating):
        raise BadArgumentError(
            f"Invalid type {dtype} for the loss. Expected: a floating-point tensor. Received: loss={shown(loss)}."
        )
