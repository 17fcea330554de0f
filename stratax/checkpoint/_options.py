"""How a checkpoint is written and read (checkpoint layer)."""

import difflib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster.phases import DEFAULT_SECONDS

_BOOLEANS = frozenset({"enable_async", "experimental_skip_slot_variables", "random_state", "expect_partial"})


class CheckpointOptions:
    """How a checkpoint is written and read, as ``tf.train.CheckpointOptions``.

    Every argument is an attribute too, which may be set later.

    Args:
        experimental_io_device: For TensorFlow's signature; not used: the chief writes.
        experimental_enable_async_checkpoint: The earlier name of `enable_async`; True sets that, too.
        experimental_write_callbacks: Functions that each task calls when the checkpoint is whole, in the thread that
            wrote it or waited for it. They take the path that `save` or `write` returned, or nothing; they may read the
            checkpoint, and save none. An error in one is raised by the next call, as one of the files is.
        enable_async: Whether `save` and `write` return when the values are copied to the host, and the files are
            written while the program goes on. In TensorFlow the default is False.
        experimental_skip_slot_variables: Whether `restore` leaves the slots of optimizers as they are.
        experimental_sharding_callback: Must be None: how the arrays are divided into files can't be chosen.
        random_state: Whether the state of the global random generators of Python, NumPy and Keras is part of it.
        expect_partial: Whether `restore` may leave variables without a value, and values without a variable.
        timeout_seconds: How long to wait for the other tasks of a cluster to save or restore too.
        **unknown: Nothing; other names are refused.

    Raises:
        BadArgumentError: If a value can't be right.
        BadTypeError: If there is no such option, or a value has the wrong type.
        OptionError: Later, if an attribute is set that is no option.

    Example:
        >>> options = CheckpointOptions(expect_partial=True)
        >>> options.enable_async = False
        >>> options
        CheckpointOptions(enable_async=False, expect_partial=True)
    """

    __slots__ = (
        "enable_async",
        "expect_partial",
        "experimental_io_device",
        "experimental_sharding_callback",
        "experimental_skip_slot_variables",
        "experimental_write_callbacks",
        "random_state",
        "timeout_seconds",
    )

    enable_async: bool
    expect_partial: bool
    experimental_io_device: str | None
    experimental_sharding_callback: None
    experimental_skip_slot_variables: bool
    experimental_write_callbacks: Sequence[Callable[..., object]] | None
    random_state: bool
    timeout_seconds: float

    def __init__(
        self,
        experimental_io_device: str | None = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: Sequence[Callable[..., object]] | None = None,
        enable_async: bool = True,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback: None = None,
        *,
        random_state: bool = True,
        expect_partial: bool = False,
        timeout_seconds: float = DEFAULT_SECONDS,
        **unknown: object,
    ) -> None:
        for name in unknown:
            raise errors.BadTypeError(_no_option(name))
        self.experimental_io_device = experimental_io_device
        # TensorFlow has both names; True in either means it.
        self.enable_async = experimental_enable_async_checkpoint or enable_async
        self.experimental_write_callbacks = experimental_write_callbacks
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
        self.experimental_sharding_callback = experimental_sharding_callback
        self.random_state = random_state
        self.expect_partial = expect_partial
        self.timeout_seconds = timeout_seconds

    @property
    def experimental_enable_async_checkpoint(self) -> bool:
        """The earlier name of `enable_async`."""
        return self.enable_async

    @experimental_enable_async_checkpoint.setter
    def experimental_enable_async_checkpoint(self, value: bool) -> None:
        self.enable_async = value

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _names():
            raise errors.OptionError(_no_option(name))
        _check(name, value)
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckpointOptions) and self._values() == other._values()

    # Mutable, and equal by value.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        usual = CheckpointOptions()._values()
        texts = [f"{name}={value!r}" for name, value in self._values().items() if value != usual[name]]
        return f"CheckpointOptions({', '.join(texts)})"

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def _names() -> list[str]:
    return sorted([*CheckpointOptions.__slots__, "experimental_enable_async_checkpoint"])


def _no_option(name: str) -> str:
    # A misspelt option that was silently accepted would never take effect.
    near = difflib.get_close_matches(name, _names(), n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return f"CheckpointOptions has no option {shown(name)}.{meant} Expected one of: {', '.join(_names())}."


def _check(name: str, value: Any) -> None:
    if name in _BOOLEANS and not isinstance(value, bool):
        raise errors.BadTypeError(f"{name} must be True or False. Received: {name}={shown(value)}.")
    # Written so that NaN is refused, too.
    if name == "timeout_seconds" and not value > 0:
        raise errors.BadArgumentError(f"timeout_seconds must be positive. Received: {name}={shown(value)}.")
    if name == "experimental_sharding_callback" and value is not None:
        raise errors.BadArgumentError(
            "How the arrays of a checkpoint are divided into files can't be chosen. Leave the option out. "
            f"Received: {name}={shown(value)}."
        )
    if name == "experimental_write_callbacks":
        for callback in value or ():
            num_arguments(callback)


def num_arguments(callback: Callable[..., Any]) -> int:
    """Return how many arguments a callback takes, 0 or 1.

    Args:
        callback: The function.

    Raises:
        BadArgumentError: If it is none, or takes more.
    """
    count = len(inspect.signature(callback).parameters) if callable(callback) else -1
    if count not in (0, 1):
        raise errors.BadArgumentError(
            "Each of experimental_write_callbacks must be a function of the path, or of nothing. "
            f"Received: {shown(callback)}."
        )
    return count
