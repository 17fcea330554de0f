"""Which strategy a variable belongs to (distribute layer).

Keras lays out each variable when it gets its first value, wherever that happens; a hook there notes the strategy that
is in force. The note stands on the variable, and what a scope has yet to place on the scope.
"""

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.surroundings import Slot
from stratax.core import Variable, cpu, state, storage
from stratax.distribute.replicas import get_strategy, has_strategy, is_default
from stratax.distribute.strategies._placement import OnDevices

if TYPE_CHECKING:
    from stratax.distribute.strategies._strategy import Strategy

# The attribute of a variable that holds the note.
_NOTE = "_stratax_owner"


class _Owner:
    """A note on a variable: its strategy.

    A copy of the variable lies on the same devices and has the same owner; one that is unpickled has none.
    """

    def __init__(self, strategy: "Strategy | None" = None) -> None:
        self.strategy = strategy

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Owner":
        return self

    def __reduce__(self) -> Any:
        return _Owner, ()


# Of each scope that a thread is in, the variables that were created there.
# Weak, so that a variable that is dropped in the scope is not kept alive by it.
_CREATED: Slot[tuple[list[weakref.ref[keras.Variable]], ...]] = Slot("variables of scopes", ())


@contextlib.contextmanager
def placing_new_variables(strategy: "Strategy") -> Iterator[None]:
    """Put the variables that this thread creates in a block where the strategy keeps them, when the block ends.

    Those that have no value yet (layers that build lazily) are placed when a program first uses them.

    Args:
        strategy: The strategy whose scope the block is.
    """
    created: list[weakref.ref[keras.Variable]] = []
    _CREATED.set((*_CREATED.get(), created))
    try:
        try:
            yield
        finally:
            # By identity: scopes of generators may end in another order than they began.
            _CREATED.set(tuple(other for other in _CREATED.get() if other is not created))
            _place(_list_made(created), strategy)
    except jax.errors.JaxRuntimeError as error:
        storage.refuse_exhausted(error, list_places(_list_made(created), strategy))
        raise


def _list_made(created: list[weakref.ref[keras.Variable]]) -> list[keras.Variable]:
    """Return variables that a scope has created and somebody holds, but for those whose first value failed."""
    # Once each, though Keras finds a variable's layout twice: the chief's values travel.
    found = {id(variable): variable for reference in created if (variable := reference()) is not None}
    return [
        each for each in found.values() if storage.store_of(each) is not None or "_value" in each.__dict__
    ]


def list_places(
    variables: Iterable[keras.Variable], strategy: "Strategy"
) -> list[tuple[keras.Variable, jax.sharding.Sharding | None]]:
    """Return where each variable of a strategy lies; None for wherever JAX has put it."""
    placement = strategy.extended.placement
    whole = placement.storage if isinstance(placement, OnDevices) else None
    return [(variable, storage.sharding_in(variable, whole)) for variable in variables]


def _place(variables: list[keras.Variable], strategy: "Strategy") -> None:
    # A store places its own variables.
    held = [variable for variable in variables if storage.store_of(variable) is None]
    present = [
        (variable, value)
        for variable, value in zip(held, storage.read_all(held), strict=True)
        # Variables that were created while a function is traced have no value yet, and those in parts a place.
        if isinstance(value, jax.Array)
        and not isinstance(value, jax.core.Tracer)
        and value.sharding.is_fully_replicated
    ]
    extended = strategy.extended
    values = find_first([value for _, value in present], strategy)
    extended.placement.place([variable for variable, _ in present], values)


def find_first(values: list[Any], strategy: "Strategy") -> list[Any]:
    """Return the first values of variables or arrays: the chief's, as each process may draw others."""
    membership = strategy.extended.membership
    return values if membership.check_alike(values) else membership.agree(values)


def _find_first_of(variable: keras.Variable, value: jax.Array) -> Any:
    strategy = owner(variable)
    return value if strategy is None else find_first([value], strategy)[0]


def own(variables: Iterable[keras.Variable], strategy: "Strategy") -> None:
    """Note that variables belong to `strategy`; nothing belongs to the default strategy."""
    note = _Owner(None if is_default(strategy) else strategy)
    for variable in variables:
        setattr(variable, _NOTE, note)


def owner(variable: keras.Variable) -> "Strategy | None":
    """Return the strategy in whose scope, or by whose programs, `variable` was created, or None."""
    note: _Owner | None = variable.__dict__.get(_NOTE)
    return None if note is None else note.strategy


def make_beside(variable: keras.Variable, make: Callable[[], Any]) -> Any:
    """Return a variable that lies where another one does: an optimizer's slot beside its variable.

    Args:
        variable: The other one.
        make: Makes the variable.
    """
    strategy = owner(variable)
    with storage.making_like(variable):
        return make() if strategy is None else strategy.extended.placement.make_beside(variable, make)


def noting(original: Callable[[Any], None]) -> Callable[[Any], None]:
    """Wrap Keras' method that finds a variable's layout in one that also notes the variable's strategy."""

    @functools.wraps(original)
    def _initialize_layout(self: object) -> None:
        original(self)
        # The seed generators that Keras makes for itself belong to no strategy.
        if state.is_made_now():
            return
        if has_strategy():
            _check_mean(self, get_strategy())
            own([self], get_strategy())
        _keep(self)
        if has_strategy():
            _lay_out(self, get_strategy())
        # The innermost scope places it.
        scopes = _CREATED.get()
        if scopes:
            scopes[-1].append(weakref.ref(self))

    return _initialize_layout


def _check_mean(variable: Any, strategy: "Strategy") -> None:
    """Raise for a mean of whole numbers, as TensorFlow does when the variable is made."""
    is_whole = np.dtype(variable.dtype).kind in "biu"
    if variable.aggregation == "mean" and is_whole and strategy.num_replicas_in_sync > 1:
        raise errors.BadArgumentError(
            "A variable of whole numbers can't be the replicas' mean. Expected: a variable of floating point numbers, "
            f"or another aggregation. Received: aggregation='mean', dtype={variable.dtype}."
        )


def creating(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap Keras' method that computes a variable's first value in one that asks first who is to keep it.

    A store computes the first values of its variables by itself: they may be larger than this process' memory.
    """

    @functools.wraps(original)
    def _initialize_with_initializer(self: Any, initializer: Callable[..., Any]) -> None:
        # The class of a variable that a store keeps has a method of its own.
        is_ours = has_strategy() and not state.is_made_now()
        if not state.is_made_now() and _keep(self):
            self._initialize_with_initializer(initializer)
        elif is_ours and _lay_out(self, get_strategy()):
            # Whole on one device, and divided at once: the value is the one that a single device would have. Keras 3.15
            # compiles initializers of divided variables instead, which rounds otherwise.
            value = cpu.fill_on_host(initializer)(self._shape, dtype=self._dtype)
            self._initialize(self._convert_to_tensor(value))
            # One after the other: those that are on their way lie whole on that device, all of them.
            jax.block_until_ready(self._value)
        else:
            original(self, _of_all(self, cpu.fill_on_host(initializer)))

    return _initialize_with_initializer


def _of_all(variable: keras.Variable, initializer: Callable[..., Any]) -> Callable[..., Any]:
    """Return what gives a variable's first value, where each replica of a sum begins with what the program gives."""
    is_sum = variable.aggregation == "sum" and variable.synchronization == "on_read"
    if not (is_sum and isinstance(variable, Variable) and has_strategy()):
        return initializer
    extended = get_strategy().extended
    count = extended.execution.num_replicas if extended.placement.keeps_copies else 1
    return lambda *args, **kwargs: initializer(*args, **kwargs) * count


def _lay_out(variable: Any, strategy: "Strategy") -> bool:
    """Have a new variable be divided among devices as the strategy says; return whether it is."""
    if variable._layout is None:
        sharding = strategy.extended.placement.find_sharding(variable)
        if sharding is not None and sharding.spec:
            lay_out(variable, sharding)
    return variable._layout is not None


def lay_out(variable: keras.Variable, sharding: jax.sharding.NamedSharding) -> None:
    """Have a variable be divided among devices; Keras lays out whatever it is assigned from now on."""
    # Late: most programs divide nothing.
    from stratax.distribute.strategies import _host_values

    _host_values.install(_find_first_of)
    variable._layout = sharding


def _keep(variable: keras.Variable) -> bool:
    """Hand a new variable to the store that the strategy in force has for it; return whether there is one."""
    store = storage.find_abstract(variable)
    if store is None and has_strategy():
        store = get_strategy().extended.placement.store_of(variable)
    if store is not None:
        storage.keep(variable, store)
    return store is not None
