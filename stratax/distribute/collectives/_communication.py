"""How workers talk to one another: `CommunicationOptions` (distribute layer)."""

import dataclasses
import enum
import math
import numbers
import warnings

from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.distribute.collectives._chosen_ops import RingAllReduce
from stratax.distribute.collectives._cross_device_ops import NcclAllReduce
from stratax.distribute.collectives._cross_device_ops_base import CrossDeviceOps
from stratax.errors import BadArgumentError, BadTypeError


class CommunicationImplementation(enum.Enum):
    """How values travel between workers, as ``tf.distribute.experimental.CommunicationImplementation``.

    * ``AUTO``: XLA's own all-reduce: NCCL between GPUs, the interconnect of a TPU pod, Gloo between CPUs.
    * ``RING``: an all-reduce around a ring of all replicas (:class:`RingAllReduce`), over the same connections.
    * ``NCCL``: NCCL; where there are no GPUs it is AUTO, and says so.
    """

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


# The name that :class:`CommunicationImplementation` had first.
CollectiveCommunication = CommunicationImplementation


@dataclasses.dataclass(frozen=True, slots=True)
class CommunicationOptions:
    """Hints for communication between workers, as ``tf.distribute.experimental.CommunicationOptions``.

    Attributes:
        bytes_per_pack: The largest pack that small gradients are put into, in bytes; 0: 256 KiB.
        timeout_seconds: How long a step may take before the tasks that hold it up are taken for lost, in seconds;
            None: ten minutes. Compiling, evaluating and saving do not count.
        implementation: A :class:`CommunicationImplementation` or its name.

    Raises:
        BadArgumentError: A number is out of range, or the implementation is unknown.
        BadTypeError: What should be a number is none.

    Example:
        >>> CommunicationOptions(bytes_per_pack=1 << 20, timeout_seconds=60.0).implementation
        <CommunicationImplementation.AUTO: 'AUTO'>
    """

    bytes_per_pack: int = 0
    timeout_seconds: float | None = None
    implementation: CommunicationImplementation = CommunicationImplementation.AUTO

    def __post_init__(self) -> None:
        if isinstance(self.bytes_per_pack, bool) or not isinstance(self.bytes_per_pack, numbers.Integral):
            raise BadTypeError(
                f"bytes_per_pack must be an integer. Received: bytes_per_pack={shown(self.bytes_per_pack)}."
            )
        if self.bytes_per_pack < 0:
            raise BadArgumentError(
                f"bytes_per_pack must not be negative. Received: bytes_per_pack={shown(self.bytes_per_pack)}."
            )
        # Past the frozen dataclass, once, in its own initialisation.
        object.__setattr__(self, "bytes_per_pack", int(self.bytes_per_pack))
        object.__setattr__(self, "timeout_seconds", _as_seconds(self.timeout_seconds))
        object.__setattr__(self, "implementation", as_implementation(self.implementation))

    def cross_device_ops(self, has_gpus: bool) -> CrossDeviceOps:
        """Return what combines the replicas' values.

        Args:
            has_gpus: Whether the replicas are on GPUs.
        """
        if self.implementation is CommunicationImplementation.RING:
            return RingAllReduce(bytes_per_pack=self.bytes_per_pack)
        if self.implementation is CommunicationImplementation.NCCL and not has_gpus:
            warnings.warn(
                "CommunicationImplementation.NCCL was asked for and there are no GPUs: what XLA has for these "
                "devices is used instead, as AUTO would.",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        # XLA's own all-reduce, which uses NCCL where there are GPUs.
        return NcclAllReduce(bytes_per_pack=self.bytes_per_pack)


def as_implementation(value: object) -> CommunicationImplementation:
    """Return the implementation that `value` is or names."""
    if isinstance(value, CommunicationImplementation):
        return value
    if isinstance(value, str) and value.upper() in CommunicationImplementation.__members__:
        return CommunicationImplementation[value.upper()]
    raise BadArgumentError(
        f"implementation must be one of {[each.name for each in CommunicationImplementation]}. "
        f"Received: implementation={shown(value)}."
    )


def _as_seconds(seconds: object) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, numbers.Real):
        raise BadTypeError(
            f"timeout_seconds must be a number or None. Received: timeout_seconds={shown(seconds)}."
        )
    # Written so that NaN is refused, too.
    if not 0 < float(seconds) < math.inf:
        raise BadArgumentError(
            "timeout_seconds must be positive and finite: a lost task has to be noticed some time. "
            f"Received: timeout_seconds={shown(seconds)}."
        )
    return float(seconds)
