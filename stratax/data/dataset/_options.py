"""Options of a Dataset, under TensorFlow's names (data layer).

Most of TensorFlow's are hints to its own runtime. They can be set, so that programs run as they are, and have nothing
to do here: none of them changes an element or an order.
"""

import enum
from dataclasses import dataclass
from typing import Any, get_type_hints

from stratax.base.shown import shown
from stratax.errors import BadArgumentError, BadTypeError


class AutoShardPolicy(enum.IntEnum):
    """How a Dataset is divided between workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """What TensorFlow does about functions with a state of their own when a position is saved; here nothing."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Settings:
    """Settings that may be changed but not added to: those that the class annotates, None or a group of their own."""

    __slots__ = ("_is_fixed",)
    _is_fixed: bool

    def __init__(self) -> None:
        object.__setattr__(self, "_is_fixed", False)
        for name, kind in _kinds(type(self)).items():
            # Groups of options are made; single options are unset, which `merged` tells from a value.
            object.__setattr__(self, name, kind() if isinstance(kind, type) else None)

    def __reduce__(self) -> Any:
        return _make_settings, (type(self), self._values())

    def __setattr__(self, name: str, value: object) -> None:
        if self._is_fixed:
            raise BadArgumentError(
                "Mutating `tf.data.Options()` returned by `tf.data.Dataset.options()` has no effect. Received: "
                f"{name}={shown(value)}. Use `tf.data.Dataset.with_options(options)` to set or update dataset options."
            )
        # Old names are properties that set the new ones.
        if isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
            return
        kinds = _kinds(type(self))
        if name not in kinds:
            raise BadArgumentError(
                f"{type(self).__name__} has no such setting. Expected one of {sorted(kinds)}. "
                f"Received: name={shown(name)}. Leave it out, or write it as it is listed."
            )
        if not isinstance(value, kinds[name]):
            kind = getattr(kinds[name], "__name__", str(kinds[name]))
            raise BadTypeError(
                f"The setting {name} of {type(self).__name__} has another type. Expected: {kind}. Received: "
                f"{name}={shown(value)} of type {type(value).__name__}. Set it to a value of that type."
            )
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        unset = type(self)()._values()
        texts = [f"{name}={value!r}" for name, value in self._values().items() if value != unset[name]]
        return f"{type(self).__name__}({', '.join(texts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(repr(self))

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _kinds(type(self))}

    def merged(self, other: Any) -> Any:
        """Return a copy in which what `other` sets takes precedence."""
        # Options of a Dataset never change: every merge makes new ones.
        values = {
            name: mine.merged(theirs) if isinstance(mine, _Settings) else mine if theirs is None else theirs
            for (name, mine), theirs in zip(self._values().items(), other._values().values(), strict=True)
        }
        return _make_settings(type(self), values)


def fix(settings: Any) -> Any:
    """Return settings, which refuse changes from now on, also of the groups in them."""
    object.__setattr__(settings, "_is_fixed", True)
    for value in settings._values().values():
        if isinstance(value, _Settings):
            fix(value)
    return settings


def _make_settings(settings: type[_Settings], values: dict[str, Any]) -> Any:
    """Return settings with values that are checked already."""
    made = settings()
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _kinds(settings: type[_Settings]) -> dict[str, Any]:
    """Return what values each setting takes; a class where they are a group."""
    return {name: kind for name, kind in get_type_hints(settings).items() if name != "_is_fixed"}


@dataclass(slots=True, init=False, repr=False, eq=False)
class AutotuneOptions(_Settings):
    """Hints without effect: AUTOTUNE values are chosen once, from the number of cores."""

    enabled: bool | None
    cpu_budget: int | None
    ram_budget: int | None
    initial_parallelism: int | None
    min_parallelism: int | None


@dataclass(slots=True, init=False, repr=False, eq=False)
class DistributeOptions(_Settings):
    """How strategies divide the Dataset.

    Attributes:
        auto_shard_policy: An :class:`AutoShardPolicy`, None for AUTO.
        num_devices: A hint without effect.
    """

    auto_shard_policy: AutoShardPolicy | None
    num_devices: int | None


@dataclass(slots=True, init=False, repr=False, eq=False)
class OptimizationOptions(_Settings):
    """Hints without effect: plans are rewritten where that changes no element."""

    apply_default_optimizations: bool | None
    filter_fusion: bool | None
    filter_parallelization: bool | None
    inject_prefetch: bool | None
    map_and_batch_fusion: bool | None
    map_and_filter_fusion: bool | None
    map_fusion: bool | None
    map_parallelization: bool | None
    noop_elimination: bool | None
    parallel_batch: bool | None
    seq_interleave_prefetch: bool | None
    shuffle_and_repeat_fusion: bool | None
    # Of earlier versions of TensorFlow.
    autotune: bool | None
    autotune_buffers: bool | None
    autotune_cpu_budget: int | None
    autotune_ram_budget: int | None
    hoist_random_uniform: bool | None
    map_vectorization: bool | None
    reorder_data_discarding_ops: bool | None


@dataclass(slots=True, init=False, repr=False, eq=False)
class ThreadingOptions(_Settings):
    """How many threads work for one iterator.

    Attributes:
        private_threadpool_size: Upper limit of the threads of all its `map` calls; worker processes
            (`map(num_processes=...)`) are counted by themselves.
        max_intra_op_parallelism: A hint without effect.
    """

    private_threadpool_size: int | None
    max_intra_op_parallelism: int | None


@dataclass(slots=True, init=False, repr=False, eq=False)
class Options(_Settings):
    """What `Dataset.with_options` takes, as `tf.data.Options`.

    Those that are not named below are hints without effect: `experimental_external_state_policy`,
    `experimental_slack`, `experimental_symbolic_checkpoint`, `experimental_warm_start` and `dataset_name`.

    Attributes:
        deterministic: Accepted: the order is always deterministic, which False allows too.
        autotune: :class:`AutotuneOptions`, hints without effect.
        experimental_distribute: :class:`DistributeOptions`.
        experimental_optimization: :class:`OptimizationOptions`, hints without effect.
        threading: :class:`ThreadingOptions`.

    Example:
        >>> from stratax.data import AutoShardPolicy, Options
        >>> options = Options()
        >>> options.experimental_distribute.auto_shard_policy = AutoShardPolicy.DATA
        >>> options.experimental_deterministic = False
        >>> options.deterministic
        False
    """

    autotune: AutotuneOptions
    dataset_name: str | None
    deterministic: bool | None
    experimental_distribute: DistributeOptions
    experimental_external_state_policy: ExternalStatePolicy | None
    experimental_optimization: OptimizationOptions
    experimental_slack: bool | None
    experimental_symbolic_checkpoint: bool | None
    experimental_warm_start: bool | None
    threading: ThreadingOptions

    @property
    def experimental_deterministic(self) -> bool | None:
        """The earlier name of `deterministic`."""
        return self.deterministic

    @experimental_deterministic.setter
    def experimental_deterministic(self, value: bool | None) -> None:
        self.deterministic = value

    @property
    def experimental_threading(self) -> ThreadingOptions:
        """The earlier name of `threading`."""
        return self.threading

    @experimental_threading.setter
    def experimental_threading(self, value: ThreadingOptions) -> None:
        self.threading = value

    def merge(self, options: "Options") -> "Options":
        """Return a copy in which what `options` sets takes precedence."""
        return self.merged(options)
