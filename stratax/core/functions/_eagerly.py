"""Whether users' functions run in Python instead of being compiled, for debugging (core layer)."""

import dataclasses


@dataclasses.dataclass(slots=True)
class _Mode:
    eagerly: bool = False


_mode = _Mode()


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Run functions of `stratax.function` in Python, as `tf.config.run_functions_eagerly`, to debug them.

    Each call then runs the function itself: arrays have values, `print` shows them and breakpoints stop. `strategy.run`
    runs its replicas one after another, each as far as the next collective. Steps of `fit`, `evaluate` and `predict`
    and of Estimators stay compiled.

    Args:
        run_eagerly: Whether to; False has functions compiled again, as they are at first.
    """
    _mode.eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Return whether functions of `stratax.function` run in Python, as `tf.config.functions_run_eagerly`."""
    return _mode.eagerly
