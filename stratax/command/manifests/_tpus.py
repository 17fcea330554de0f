"""TPU slices as they are asked for on Google's cloud (manifests layer)."""

import dataclasses
import math
import re

from stratax.base.shown import shown
from stratax.errors import BadArgumentError

_SHAPE = re.compile(r"[1-9][0-9]*(x[1-9][0-9]*){1,2}")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class _Kind:
    """What a generation of TPUs is called.

    Attributes:
        size_name: In names of sizes such as ``v5litepod-16``.
        cores_per_chip: How many cores count in these names; 1 where they count chips.
        runtime: The software of a TPU VM for JAX.
        node: The value of GKE's label for its slices; None where GKE has none.
        single_hosts: Shapes that have one host; slices of other shapes have four chips on each host.
        single_node: GKE's label for these, where it is another one.
    """

    size_name: str
    cores_per_chip: int
    runtime: str
    node: str | None
    single_hosts: tuple[str, ...]
    single_node: str | None = None


_CHIPS_PER_HOST = 4
_FLAT = ("1x1", "2x2", "2x4")
# Labels and chips on each host: cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus, where machines of v3, v4
# and v5p (ct3-, ct3p-, ct4p-, ct5p-hightpu-4t) have four chips, those of v5e and v6e (ct5lp-hightpu-, ct6e-standard-)
# 1, 4 or 8. Runtimes: cloud.google.com/tpu/docs/runtimes.
_KINDS = {
    "v2": _Kind(
        size_name="v2", cores_per_chip=2, runtime="tpu-ubuntu2204-base", node=None, single_hosts=("2x2",)
    ),
    "v3": _Kind(
        size_name="v3",
        cores_per_chip=2,
        runtime="tpu-ubuntu2204-base",
        node="tpu-v3-slice",
        single_hosts=("2x2",),
        single_node="tpu-v3-device",
    ),
    "v4": _Kind(
        size_name="v4",
        cores_per_chip=2,
        runtime="tpu-ubuntu2204-base",
        node="tpu-v4-podslice",
        single_hosts=("2x2x1",),
    ),
    "v5e": _Kind(
        size_name="v5litepod",
        cores_per_chip=1,
        runtime="v2-alpha-tpuv5-lite",
        node="tpu-v5-lite-podslice",
        single_hosts=_FLAT,
    ),
    "v5p": _Kind(
        size_name="v5p",
        cores_per_chip=2,
        runtime="v2-alpha-tpuv5",
        node="tpu-v5p-slice",
        single_hosts=("2x2x1",),
    ),
    "v6e": _Kind(
        size_name="v6e",
        cores_per_chip=1,
        runtime="v2-alpha-tpuv6e",
        node="tpu-v6e-slice",
        single_hosts=_FLAT,
    ),
}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TpuSlice:
    """A slice of a TPU pod.

    Attributes:
        generation: What its chips are, such as ``"v5e"``.
        shape: The chips along each dimension, such as ``"4x4"``.
        chips_per_host: How many of them a host has. Where 0 is given, as many as there are hosts for; eight chips may
            also be on two hosts in Google Kubernetes Engine, with 4.

    Raises:
        BadArgumentError: If there is no such generation or no such hosts, or the shape is none.

    Example:
        >>> slice = TpuSlice(generation="v5e", shape="4x4")
        >>> slice.num_hosts, slice.chips_per_host, slice.accelerator_type
        (4, 4, 'v5litepod-16')
    """

    generation: str
    shape: str
    chips_per_host: int = 0

    def __post_init__(self) -> None:
        if self.generation not in _KINDS:
            raise BadArgumentError(
                f"generation must be one of {', '.join(_KINDS)}. Received: generation={shown(self.generation)}."
            )
        if not _SHAPE.fullmatch(self.shape) or (not self._has_one_host and self.num_chips % _CHIPS_PER_HOST):
            raise BadArgumentError(
                "shape must be the chips along each dimension, such as '4x4' or '2x2x2', which fill whole hosts. "
                f"Received: shape={shown(self.shape)}."
            )
        choices = [self.num_chips] if self._has_one_host else [_CHIPS_PER_HOST]
        if self._has_one_host and self.num_chips > _CHIPS_PER_HOST:
            choices.append(_CHIPS_PER_HOST)
        if self.chips_per_host not in (0, *choices):
            raise BadArgumentError(
                f"The hosts of {self.generation}:{self.shape} have {' or '.join(map(str, choices))} chips. "
                f"Received: chips_per_host={shown(self.chips_per_host)}."
            )
        object.__setattr__(self, "chips_per_host", self.chips_per_host or choices[0])

    @property
    def num_chips(self) -> int:
        """How many chips it has."""
        return math.prod(map(int, self.shape.split("x")))

    @property
    def num_hosts(self) -> int:
        """How many hosts it has, each of which runs the program."""
        return self.num_chips // self.chips_per_host

    @property
    def accelerator_type(self) -> str:
        """The name of its size, as TPU VMs are asked for."""
        kind = _KINDS[self.generation]
        return f"{kind.size_name}-{self.num_chips * kind.cores_per_chip}"

    @property
    def runtime_version(self) -> str:
        """The software of TPU VMs on which JAX runs."""
        return _KINDS[self.generation].runtime

    @property
    def node_label(self) -> str:
        """What GKE calls nodes with it.

        Raises:
            BadArgumentError: If GKE has no such nodes.
        """
        kind = _KINDS[self.generation]
        label = kind.single_node if self._has_one_host and kind.single_node else kind.node
        if label is None:
            raise BadArgumentError(
                f"Google Kubernetes Engine has no nodes with TPUs of {self.generation}. Expected: "
                f"{', '.join(name for name, each in _KINDS.items() if each.node)}. Take TPU VMs instead: stratax "
                f"manifest tpu-vm. Received: {self.generation}:{self.shape}."
            )
        return label

    @property
    def _has_one_host(self) -> bool:
        return self.shape in _KINDS[self.generation].single_hosts
