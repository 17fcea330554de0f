"""Where Keras asks for the strategy: gradients that are applied, losses that are averaged (distribute layer).

Keras has these hooks for its TensorFlow backend only (`tf.distribute` is built into them): `Optimizer.apply`
sums gradients over the replicas there, and `scale_loss_for_distribution` divides a loss by their number. On the JAX
backend they do nothing, so this module replaces the functions by ones that ask Stratax.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import Slot, Surroundings
from stratax.base.typing import PyTree
from stratax.core import cpu, regions
from stratax.distribute import keras_hooks, strategies
from stratax.distribute.keras_hooks import _accumulation
from stratax.distribute.replicas import (
    PostponedUpdate,
    PostponesUpdates,
    ReduceOp,
    ReplicaContext,
    adding,
    assigning,
    combine_in_parts,
    get_replica_context,
    get_strategy,
    mark_equal,
    mark_rows,
    mark_statistics,
    subtracting,
    sum_over_replicas,
    syncing_replicas,
)
from stratax.distribute.strategies import UpdatesOnce
from stratax.seams import keras as seam

# Whether an optimizer's `apply` is called by another's (loss scaling), with reduced gradients.
_IS_APPLYING: Slot[bool] = Slot("applying reduced gradients", False)
_ARE_REDUCED: Slot[bool] = Slot("applying gradients that the program has reduced", False)


def install() -> None:
    """Put the hooks in place; a second call changes nothing."""
    seam.install(
        "stratax.distribute",
        {
            "keras.src.optimizers.base_optimizer:BaseOptimizer.apply": _apply_hook,
            "keras.src.optimizers.loss_scale_optimizer:LossScaleOptimizer.apply": _apply_hook,
            "keras.src.optimizers.base_optimizer:BaseOptimizer.add_variable_from_reference": _slot_hook,
            "keras.src.optimizers.base_optimizer:BaseOptimizer.load_own_variables": _loading_hook,
            "keras.src.backend.jax.core:JaxVariable._initialize_layout": strategies.noting,
            "keras.src.backend.jax.core:JaxVariable._initialize_with_initializer": strategies.creating,
            "keras.src.backend.jax.random:normal": cpu.wrap_normal,
            "keras.src.backend.jax.random:truncated_normal": cpu.wrap_truncated_normal,
            "keras.src.backend.jax.random:uniform": cpu.wrap_uniform,
            "keras.src.backend.jax.core:remat": lambda _: lambda call: keras_hooks.remat_call(call),
            "keras.src.backend.common.variables:Variable.assign": assigning,
            "keras.src.backend.common.variables:Variable.assign_add": adding,
            "keras.src.backend.common.variables:Variable.assign_sub": subtracting,
            "keras:layers.BatchNormalization.__init__": _synchronize_init,
            "keras:layers.BatchNormalization.build": _build_of_statistics,
            "keras:layers.SpectralNormalization.build": _build_of_equals,
            "keras:layers.RNN.call": _call_with_rows,
            "keras:layers.BatchNormalization._moments": _global_moments,
            "keras:metrics.Mean.update_state": _weigh_mean_update,
            "keras.src.losses.loss:scale_loss_for_distribution": lambda _: scale_loss,
            "keras.src.losses.loss:unscale_loss_for_distribution": lambda _: unscale_loss,
            "keras.src.losses.loss:reduce_values": _global_reduce_values,
            "keras.src.losses.loss:apply_mask": _global_apply_mask,
        },
    )


def scale_loss(value: Any) -> Any:
    """Scale a replica's contribution to a loss that was averaged over the replica's own examples."""
    replicas = syncing_replicas()
    return value if replicas is None else value / replicas.num_contributions


def unscale_loss(value: Any) -> Any:
    """Undo :func:`scale_loss`, for trackers that average over the replicas."""
    replicas = syncing_replicas()
    return value if replicas is None else value * replicas.num_contributions


def reduce_gradients(grads: Sequence[Any]) -> list[Any]:
    """Sum each gradient over the replicas (their mean in a step of `fit`); None stays None."""
    replicas = syncing_replicas()
    if replicas is None:
        return list(grads)
    present = [index for index, grad in enumerate(grads) if grad is not None]
    # All in one call, so that they are packed together.
    summed = replicas.all_reduce(_op_of(replicas), [grads[index] for index in present])
    result = list(grads)
    for index, grad in zip(present, summed, strict=True):
        result[index] = grad
    return result


def _op_of(replicas: ReplicaContext) -> ReduceOp:
    # In `fit` Keras' loss is a mean over the replica's own examples; custom loops divide by the global batch.
    return ReduceOp.MEAN if replicas.averages_gradients else ReduceOp.SUM


def applying(optimizer: keras.optimizers.Optimizer) -> Surroundings:
    """Mark a block in which an optimizer applies gradients that are reduced already."""
    # Reduced gradients and equal variables give equal updates: no merge is needed at the end.
    return _IS_APPLYING.holding(True) | regions.equal_on_all_replicas()


def as_given() -> Surroundings:
    """Mark a block in which gradients are applied that the program itself has combined over the replicas."""
    return _ARE_REDUCED.holding(True)


def _apply_hook(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def apply(self: object, grads: Sequence[Any], trainable_variables: object = None) -> None:
        region = regions.current_region()
        if region is None or _IS_APPLYING.get():
            original(self, grads, trainable_variables)
            return
        # Some of Keras' optimizers make variables of values, which a scope without state refuses.
        _build(self, trainable_variables)
        if _postpones(region):
            if _ARE_REDUCED.get() and not get_strategy().extended.placement.keeps_copies:
                raise errors.StrategyError(
                    "experimental_aggregate_gradients=False does not go with a strategy that updates variables in one "
                    "place, as in TensorFlow. Expected: each replica's own gradients, which it sums. Received: "
                    f"{shown(get_strategy())}. Leave the argument and your own all_reduce out."
                )
            _postpone(self, original, list(grads), trainable_variables, region)
            return
        # Before clipping, scaling and accumulation, all of which need the whole batch's gradient.
        reduced = list(grads) if _ARE_REDUCED.get() else reduce_gradients(grads)
        with applying(self):
            _apply(self, original, reduced, trainable_variables)

    return apply


def _slot_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def add_variable_from_reference(
        self: object, reference_variable: object, name: str | None = None, initializer: object = "zeros"
    ) -> Any:
        make = functools.partial(original, self, reference_variable, name, initializer)
        return (
            strategies.make_beside(reference_variable, make)
            if isinstance(reference_variable, keras.Variable)
            else make()
        )

    return add_variable_from_reference


def _loading_hook(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def load_own_variables(self: Any, store: Any) -> None:
        # What accumulates gradients was saved with one variable more than Keras has built it with.
        if self.built and len(store.keys()) == len(self.variables) + 1:
            _accumulation.prepare(self)
        original(self, store)

    return load_own_variables


def _build(optimizer: Any, variables: Any) -> None:
    """Make an optimizer's variables for real, also while a program is traced: only shapes are needed for it."""
    if variables is not None and not optimizer.built and isinstance(variables, list | tuple):
        with regions.outside_scopes(), keras.name_scope(optimizer.name):
            optimizer.build(list(variables))
        optimizer.built = True


def apply_once(
    arrays: list[Any], update: Callable[[list[Any]], None], changed: Sequence[keras.Variable]
) -> None:
    """Make an update of variables with arrays that are equal on all replicas: on each, or in the one place of all.

    Args:
        arrays: The arrays, such as reduced gradients.
        update: Makes the update, with the arrays.
        changed: The variables that it changes.
    """

    def make(given: list[Any]) -> None:
        with regions.equal_on_all_replicas():
            update(given)

    region = regions.current_region()
    if _postpones(region):
        ids = frozenset(id(variable) for variable in changed)
        region.postpone(PostponedUpdate(make, arrays, ids, [None] * len(arrays)))
    else:
        make(arrays)


def _postpones(region: object) -> TypeGuard[PostponesUpdates]:
    """Return whether updates in a region are left to the one place where the variables are."""
    return isinstance(region, PostponesUpdates) and isinstance(get_strategy().extended.placement, UpdatesOnce)


def _postpone(
    optimizer: Any,
    original: Callable[..., None],
    grads: list[Any],
    variables: Any,
    region: PostponesUpdates,
) -> None:
    """Leave applying gradients to one place, after the replicas have computed them."""
    # The update runs later, when an iterator would be empty.
    targets = list(variables) if variables is not None else list(optimizer._trainable_variables)
    reduced, specs = _reduce_in_parts(grads, targets, region)
    present = [index for index, grad in enumerate(grads) if grad is not None]

    def make(arrays: list[Any]) -> None:
        full: list[Any] = [None] * len(grads)
        *given, examples = arrays
        for index, array in zip(present, given, strict=True):
            full[index] = array
        with applying(optimizer), _accumulation.weighing(examples):
            _apply(optimizer, original, full, targets)

    arrays = [*(reduced[index] for index in present), jnp.asarray(_accumulation.examples())]
    # Whoever reads one of these in the same step makes the update happen first.
    changed = frozenset(id(variable) for variable in [*targets, *optimizer.variables])
    region.postpone(PostponedUpdate(make, arrays, changed, [*(specs[index] for index in present), None]))


def _reduce_in_parts(
    grads: Sequence[Any], targets: Sequence[Any], region: PostponesUpdates
) -> tuple[list[Any], list[Any]]:
    """Reduce gradients over the replicas: of variables that devices have in parts, each gets its part.

    Returns:
        The gradients, and how each is divided, None for those that are whole.
    """
    if _ARE_REDUCED.get():
        return list(grads), [None] * len(grads)
    specs: list[Any] = [
        None if grad is None else region.spec_of(target) for grad, target in zip(grads, targets, strict=True)
    ]
    replicas = syncing_replicas()
    reduced = reduce_gradients(
        [grad if spec is None else None for grad, spec in zip(grads, specs, strict=True)]
    )
    divided = [index for index, spec in enumerate(specs) if spec is not None]
    if replicas is not None:
        rests = [region.find_reduced(grads[index]) for index in divided]
        parts = combine_in_parts(
            _op_of(replicas),
            [rest for rest, _ in rests],
            [specs[index] for index in divided],
            replicas.num_replicas_in_sync,
            [part for _, part in rests],
            [targets[index].path for index in divided],
        )
        for index, part in zip(divided, parts, strict=True):
            reduced[index] = part
    return reduced, specs


def _apply(
    optimizer: keras.optimizers.Optimizer, original: Callable[..., None], grads: list[Any], variables: object
) -> None:
    if isinstance(optimizer, seam.LossScaleOptimizer):
        _apply_scaled(optimizer, grads, variables)
    elif optimizer.gradient_accumulation_steps:
        _accumulation.apply(optimizer, original, grads, variables)
    else:
        original(optimizer, grads, variables)


def _apply_scaled(optimizer: Any, grads: list[Any], variables: Any) -> None:
    """Apply through Keras' stateless form: its stateful one assigns variables inside `jax.lax.cond`."""
    if not optimizer.built:
        with keras.name_scope(optimizer.name):
            optimizer.build(list(variables))
        optimizer.built = True
    targets = list(variables) if variables is not None else list(optimizer._trainable_variables)
    slots = list(optimizer.variables)
    new_targets, new_slots = optimizer.stateless_apply(
        [slot.value for slot in slots], grads, [target.value for target in targets]
    )
    for variable, value in zip([*targets, *slots], [*new_targets, *new_slots], strict=True):
        variable.assign(value)


def _global_reduce_values(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def reduce_values(
        values: PyTree, sample_weight: PyTree = None, reduction: object = "sum_over_batch_size"
    ) -> Any:
        # Summed before the original runs: observers need the weight also where there is one replica.
        by_weight = reduction == "mean_with_sample_weight" and sample_weight is not None
        total = _sum_over_replicas(jnp.asarray(sample_weight)) if by_weight else None
        losses = _accumulation.find_observed()
        if losses is not None:
            losses.add_loss(jnp.ones(()) if reduction == "sum" else total)
        replicas = syncing_replicas()
        if replicas is None or not tuple(values.shape):
            return original(values, sample_weight, reduction)
        # What replicas contribute is summed where num_contributions is their number, and averaged where it is 1.
        factor = replicas.num_replicas_in_sync / replicas.num_contributions
        if reduction == "sum":
            return original(values, sample_weight, reduction) * factor
        if total is None:
            return original(values, sample_weight, reduction)
        # The mean over the whole batch divides by all replicas' weights, not by this replica's.
        return keras.ops.divide_no_nan(jnp.sum(values), jnp.asarray(total, values.dtype)) * factor

    return reduce_values


def _global_apply_mask(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply_mask(sample_weight: Any, mask: Any, dtype: Any, reduction: object) -> Any:
        replicas, losses = syncing_replicas(), _accumulation.find_observed()
        averages = mask is not None and reduction in ("mean", "sum_over_batch_size")
        if not averages or (replicas is None and losses is None):
            return original(sample_weight, mask, dtype, reduction)
        valid = _sum_over_replicas(jnp.asarray(mask, dtype))
        if losses is not None:
            losses.add_mask(valid)
        if replicas is None:
            return original(sample_weight, mask, dtype, reduction)
        # Keras gives valid entries the weight total / valid; both have to be counted over all replicas.
        total = jnp.size(mask) * replicas.num_replicas_in_sync
        weight = keras.ops.divide_no_nan(jnp.asarray(total, dtype), valid)
        # Entries that are masked out count nothing, whatever their loss.
        scaled = jnp.where(jnp.asarray(mask, bool), weight, 0)
        if sample_weight is None:
            return scaled
        scaled, sample_weight = seam.squeeze_or_expand_to_same_rank(scaled, jnp.asarray(sample_weight, dtype))
        return sample_weight * scaled

    return apply_mask


def _sum_over_replicas(array: Any) -> Any:
    """Sum all elements of all replicas' arrays, as a constant."""
    # A weight is no function of the parameters, and `psum` has a gradient of its own.
    total = jax.lax.stop_gradient(jnp.sum(array))
    return total if syncing_replicas() is None else sum_over_replicas(total)


def _synchronize_init(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Any, *args: object, synchronized: bool = False, **kwargs: object) -> None:
        # Keras refuses synchronized=True on the JAX backend, where it has no replicas to synchronise.
        original(self, *args, **kwargs)
        self.synchronized = synchronized

    # Keras binds a layer's arguments to the signature of its __init__.
    __init__.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return __init__


def _build_of_statistics(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def build(self: Any, input_shape: Any) -> None:
        original(self, input_shape)
        mark_statistics(each for each in self.variables if each is not self.gamma and each is not self.beta)

    return build


def _build_of_equals(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def build(self: Any, input_shape: Any) -> None:
        original(self, input_shape)
        # Replicas assign what they compute of these two alone.
        mark_equal([self.vector_u, self.kernel])

    return build


def _call_with_rows(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, sequences: Any, *args: Any, **kwargs: Any) -> Any:
        replicas = syncing_replicas()
        states = jax.tree.leaves(self.states) if self.stateful and replicas is not None else []
        # Built for the global batch, of which a replica has its rows.
        wanted = None if replicas is None else sequences.shape[0] * replicas.num_replicas_in_sync
        if not states or any(state.shape[0] != wanted for state in states):
            return original(self, sequences, *args, **kwargs)
        mark_rows(states)
        with _of_rows(self, states, sequences.shape[0]):
            return original(self, sequences, *args, **kwargs)

    return call


@contextlib.contextmanager
def _of_rows(layer: Any, states: list[Any], rows: int) -> Iterator[None]:
    """Have a stateful layer, in a block, take itself for one that was built for so many rows."""
    expected, shapes = layer._expected_batch_size, [state._shape for state in states]
    layer._expected_batch_size = rows
    for state in states:
        state._shape = (rows, *state._shape[1:])
    try:
        yield
    finally:
        layer._expected_batch_size = expected
        for state, shape in zip(states, shapes, strict=True):
            state._shape = shape


def _global_moments(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def moments(self: Any, inputs: Any, mask: Any) -> Any:
        if not self.synchronized:
            return original(self, inputs, mask)
        if syncing_replicas() is None:
            return _locally(self, original, inputs, mask)
        weights = jnp.ones((), inputs.dtype) if mask is None else jnp.asarray(mask, inputs.dtype)[..., None]
        weights = jnp.broadcast_to(weights, inputs.shape)
        axes = tuple(self._reduction_axes)
        sums = jnp.stack([jnp.sum(weights, axes), jnp.sum(weights * inputs, axes)])
        # Both in one collective.
        count, total = sum_over_replicas(sums)
        mean = keras.ops.divide_no_nan(total, count)
        shape = [1] * inputs.ndim
        shape[self.axis] = -1
        # In a second pass around the mean: the mean of squares less the square of the mean cancels in
        # float32.
        squares = jnp.sum(weights * jnp.square(inputs - mean.reshape(shape)), axes)
        return mean, keras.ops.divide_no_nan(sum_over_replicas(squares), count)

    return moments


def _locally(layer: Any, original: Callable[..., Any], inputs: object, mask: PyTree) -> Any:
    """Compute statistics locally where one replica sees the whole batch, as its own are the global ones."""
    # Keras' own method refuses the flag on JAX.
    layer.synchronized = False
    try:
        return original(layer, inputs, mask)
    finally:
        layer.synchronized = True


def _weigh_mean_update(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def update_state(self: object, values: PyTree, sample_weight: PyTree = None) -> Any:
        replica = get_replica_context()
        if sample_weight is None and replica is not None and replica.stands_for > 1 and not jnp.shape(values):
            # One number for a whole step, such as its loss: in the other steps every replica counts one.
            sample_weight = replica.stands_for
        return original(self, values, sample_weight)

    return update_state
