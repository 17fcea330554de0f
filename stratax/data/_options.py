"""Options of a Dataset, under TensorFlow's names (data layer)."""

import copy
import enum
from typing import Any

from stratax.errors import BadArgumentError, BadTypeError


class AutoShardPolicy(enum.IntEnum):
    """How a Dataset is divided between workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class _Settings:
    """A group of settings that may be changed but not added to."""

    __slots__: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__slots__:
            raise BadArgumentError(
                f"{type(self).__name__} has no such setting. Expected one of {sorted(self.__slots__)}. "
                f"Received: name={name!r}."
            )
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({values})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def merged(self, other: Any) -> Any:
        """A copy in which what `other` sets takes precedence."""
        result = copy.deepcopy(self)
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, _Settings):
                object.__setattr__(result, name, mine.merged(theirs))
            elif theirs is not None:
                setattr(result, name, theirs)
        return result


class AutotuneOptions(_Settings):
    """`enabled`: kept for compatibility; AUTOTUNE values are chosen once, from the number of cores."""

    __slots__ = ("enabled",)

    def __init__(self) -> None:
        self.enabled: bool | None = None


class DistributeOptions(_Settings):
    """How strategies divide the Dataset.

    Attributes:
        auto_shard_policy: An :class:`AutoShardPolicy`, None for AUTO.
        num_devices: Kept for compatibility.
    """

    __slots__ = ("auto_shard_policy", "num_devices")

    def __init__(self) -> None:
        self.auto_shard_policy: AutoShardPolicy | None = None
        self.num_devices: int | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "auto_shard_policy" and value is not None and not isinstance(value, AutoShardPolicy):
            raise BadTypeError(
                f"auto_shard_policy is an AutoShardPolicy. Received: auto_shard_policy={value!r}. Use for instance "
                "AutoShardPolicy.DATA."
            )
        super().__setattr__(name, value)


class ThreadingOptions(_Settings):
    """`private_threadpool_size`: upper limit of the threads of one iterator's `map` calls."""

    __slots__ = ("private_threadpool_size",)

    def __init__(self) -> None:
        self.private_threadpool_size: int | None = None


class Options(_Settings):
    """What `Dataset.with_options` takes, as `tf.data.Options`.

    Attributes:
        deterministic: Kept for compatibility: the order is always deterministic, which False allows too.
        autotune: :class:`AutotuneOptions`.
        experimental_distribute: :class:`DistributeOptions`.
        threading: :class:`ThreadingOptions`.

    Example:
        >>> from stratax.data import AutoShardPolicy, Options
        >>> options = Options()
        >>> options.experimental_distribute.auto_shard_policy = AutoShardPolicy.DATA
    """

    __slots__ = ("autotune", "deterministic", "experimental_distribute", "threading")

    def __init__(self) -> None:
        self.deterministic: bool | None = None
        self.autotune = AutotuneOptions()
        self.experimental_distribute = DistributeOptions()
        self.threading = ThreadingOptions()

    def merge(self, options: "Options") -> "Options":
        """A copy in which what `options` sets takes precedence."""
        return self.merged(options)
