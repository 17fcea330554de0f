"""A strategy in force without a `with` block: `tf.distribute.experimental_set_strategy` (distribute layer)."""

import contextlib

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import Slot
from stratax.distribute.replicas import get_strategy, has_strategy
from stratax.distribute.strategies._strategy import Strategy

# The strategy in force, and its scope.
_STRATEGY: Slot[Strategy | None] = Slot("strategy without a block", None)
_SCOPE: Slot[contextlib.AbstractContextManager[Strategy] | None] = Slot("scope without a block", None)


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Have a strategy be in force from here on, as `tf.distribute.experimental_set_strategy`.

    As if the rest of the program stood in `with strategy.scope():`.

    Args:
        strategy: The strategy; None ends the scope of the one before.

    Raises:
        BadTypeError: It is no strategy.
        StrategyError: It is called inside of a strategy's scope.

    Example:
        >>> import stratax.tf as tf
        >>> tf.distribute.experimental_set_strategy(tf.distribute.OneDeviceStrategy("/cpu:0"))
        >>> tf.distribute.has_strategy()
        True
        >>> tf.distribute.experimental_set_strategy(None)
    """
    if strategy is not None and not isinstance(strategy, Strategy):
        raise errors.BadTypeError(f"Expected: a strategy, or None. Received: strategy={shown(strategy)}.")
    if has_strategy() and get_strategy() is not _STRATEGY.get():
        raise errors.StrategyError(
            "experimental_set_strategy was called inside the scope of a strategy. Expected: outside of "
            f"`with strategy.scope():`. Received: {shown(strategy)} inside {shown(get_strategy())}. Use one of them."
        )
    before = _SCOPE.get()
    if before is not None:
        before.__exit__(None, None, None)
        _SCOPE.set(None)
        _STRATEGY.set(None)
    if strategy is not None:
        scope = strategy.scope()
        scope.__enter__()
        _SCOPE.set(scope)
        _STRATEGY.set(strategy)
