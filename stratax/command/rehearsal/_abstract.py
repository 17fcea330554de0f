"""`stratax.tpu.abstract_variables`: models that no memory here could hold (rehearsal layer)."""

import contextlib

from stratax.core import storage


def abstract_variables() -> contextlib.AbstractContextManager[None]:
    """Have variables that are made in a block have a shape and a place, and no value.

    For models that are compiled for a TPU and never run here, however large they are: `stratax.tpu.compile` needs no
    values. Neither do an optimizer's slots of such variables have any. Variables of fewer than 8,192 elements get
    theirs, and what is assigned to the others is dropped. They can't be trained, called or saved here.

    Returns:
        A context manager.

    Raises:
        StrategyError: Later, where the value of such a variable is looked at.

    Example:
        >>> import keras, stratax as sx
        >>> strategy = sx.distribute.ShardedStrategy()
        >>> with strategy.scope(), sx.tpu.abstract_variables():
        ...     model = keras.Sequential([keras.Input((65_536,)), keras.layers.Dense(65_536)])  # 17 GB
        ...     model.compile("adam", "mse")
        >>> model.count_params()
        4295032832
    """
    return storage.making_abstract()
