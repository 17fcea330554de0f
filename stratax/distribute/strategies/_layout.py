"""Which dimensions of variables are divided among devices: rules on their paths (distribute layer)."""

import dataclasses
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import jax
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.distribute.replicas import SHARD_AXIS

# What a step would gather is no larger than what it takes to ask for it.
_SMALL = 8192
# Of a variable that stays whole, or that a layer reads whole, one is told.
LARGE = 1 << 20

# What a rule gives: the name of an axis, or None, for each dimension; None for a copy on each device.
Axes = tuple[str | None, ...] | None


class ReadyPattern(str):
    """The expression of a rule that was written for many models, of which each has some of the variables.

    It is for variables of as many dimensions as the rule has axes, which divide those that they can.
    """

    __slots__ = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """How variables are divided whose paths a regular expression is found in.

    Attributes:
        pattern: The expression.
        axes: The axes of the mesh by which dimensions are divided.
        is_ready: Whether the expression is a `ReadyPattern`.
    """

    pattern: re.Pattern[str]
    axes: Axes
    is_ready: bool = False

    def matches(self, path: str, shape: Sequence[int]) -> bool:
        """Return whether it says how a variable is divided."""
        fits = not self.is_ready or self.axes is None or len(self.axes) == len(shape)
        return fits and self.pattern.search(path) is not None

    def __str__(self) -> str:
        return f"{self.pattern.pattern!r}: {self.axes}"


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where a variable lies, and why.

    Attributes:
        sharding: Where.
        reason: The rule that says so, as text.
    """

    sharding: NamedSharding
    reason: str


class Placed(Protocol):
    """A variable, or what stands for one in a table."""

    @property
    def path(self) -> str:
        """Its path."""

    @property
    def shape(self) -> Sequence[int]:
        """Its shape."""

    @property
    def dtype(self) -> DTypeLike:
        """Its dtype."""


class Layout:
    """Says where variables lie on a mesh.

    The first rule that matches decides. Without one, the largest dimension that divides is divided by ``"shard"``;
    variables of fewer than 8,192 elements stay whole, and so do those of which no dimension divides.

    Args:
        mesh: The mesh.
        rules: A mapping, or pairs, of a regular expression and axes.

    Raises:
        BadArgumentError: If an expression is broken, an axis unknown or named twice.
        BadTypeError: If `rules` are neither a mapping nor pairs.
    """

    def __init__(self, mesh: Mesh | AbstractMesh, rules: object = None) -> None:
        self._mesh = mesh
        self.given = rules
        self.rules = [_read_rule(mesh, *pair) for pair in _pairs_of(rules)]
        # The variables of which each rule has decided, by their paths.
        self.matched: dict[Rule, set[str]] = {rule: set() for rule in self.rules}
        self._warned: set[str] = set()

    @property
    def mesh(self) -> Mesh | AbstractMesh:
        """The mesh on whose axes variables are divided."""
        return self._mesh

    def place_of(self, path: str, shape: Sequence[int], *, trainable: bool = True) -> Place:
        """Return where a variable lies.

        Args:
            path: Its path.
            shape: Its shape.
            trainable: Whether it is trained. Of others those of fewer dimensions than a rule has axes are not meant by
                it: an optimizer's variables have the names of those that they are for.

        Raises:
            BadArgumentError: If the rule that matches has more axes than there are dimensions, or one does not divide.
        """
        for rule in self.rules:
            is_meant = trainable or rule.axes is None or len(rule.axes) <= len(shape)
            if is_meant and rule.matches(path, shape):
                self.matched[rule].add(path)
                return Place(self._on(self._follow(rule, path, shape)), str(rule))
        return self._place_by_size(path, shape)

    def _on(self, spec: PartitionSpec) -> NamedSharding:
        return NamedSharding(self._mesh, spec)

    def _follow(self, rule: Rule, path: str, shape: Sequence[int]) -> PartitionSpec:
        axes = rule.axes or ()
        if len(axes) > len(shape):
            raise errors.BadArgumentError(
                f"A layout's rule has more axes than a variable has dimensions. Expected: at most {len(shape)} for "
                f"{shown(path)} of shape {tuple(shape)}. Received: {rule}."
            )
        if rule.is_ready:
            axes = tuple(
                axis if axis is None or size % self._mesh.shape[axis] == 0 else None
                for size, axis in zip(shape, axes, strict=True)
            )
        for size, axis in zip(shape, axes, strict=False):
            if axis is not None and size % self._mesh.shape[axis]:
                raise errors.BadArgumentError(
                    f"A layout's rule divides a dimension that does not divide. Expected: multiples of "
                    f"{self._mesh.shape[axis]}, the size of the axis {shown(axis)}. Received: {rule}, which matches "
                    f"{shown(path)} of shape {tuple(shape)}. Divide another dimension, or give that variable a rule of "
                    "its own, None for a copy on each device, before it."
                )
        return _trimmed(axes)

    def _place_by_size(self, path: str, shape: Sequence[int]) -> Place:
        count, size = self._mesh.shape[SHARD_AXIS], math.prod(shape)
        if count == 1:
            return Place(self._on(PartitionSpec()), "one device in a group")
        if size < _SMALL:
            return Place(self._on(PartitionSpec()), f"whole: fewer than {_SMALL:,} elements")
        # Of equal ones the first.
        divides = [dim for dim, extent in enumerate(shape) if extent % count == 0]
        if not divides:
            if size >= LARGE and path not in self._warned:
                self._warned.add(path)
                warnings.warn(
                    f"The variable {path!r} of shape {tuple(shape)} has no dimension that {count} devices divide, so "
                    "each of them has a copy. Make one a multiple (a vocabulary with a few more rows), or use another "
                    "number of devices.",
                    stacklevel=2,
                )
            return Place(self._on(PartitionSpec()), f"whole: no dimension divides by {count}")
        chosen = max(divides, key=lambda dim: shape[dim])
        return Place(
            self._on(_trimmed([SHARD_AXIS if dim == chosen else None for dim in range(len(shape))])),
            "its largest dimension",
        )

    def find_idle(self) -> list[str]:
        """Return what is wrong with rules that have decided about no variable, a line each."""
        found = []
        for rule in self.rules:
            if self.matched[rule] or rule.is_ready:
                continue
            hidden = sorted(
                {path for paths in self.matched.values() for path in paths if rule.pattern.search(path)}
            )
            found.append(
                f"{rule} is hidden by an earlier rule, which matches {', '.join(hidden[:3])}"
                if hidden
                else f"{rule} matches no variable"
            )
        return found


def format_table(variables: Sequence[Placed], places: Sequence[Place]) -> str:
    """Return a table of variables and where they lie, with the bytes of each on a device, and their sum."""
    rows = [("variable", "shape", "divided by", "bytes on a device", "rule")]
    total = whole = 0
    for variable, place in zip(variables, places, strict=True):
        dtype: Any = variable.dtype
        # Keys of `jax.random` have a dtype that NumPy does not know.
        is_key = jax.dtypes.issubdtype(dtype, jax.dtypes.extended)
        size = dtype.itemsize if is_key else np.dtype(dtype).itemsize
        here = math.prod(place.sharding.shard_shape(tuple(variable.shape))) * size
        total, whole = total + here, whole + math.prod(variable.shape) * size
        shape = "x".join(map(str, variable.shape))
        rows.append(
            (variable.path, shape, ", ".join(map(str, place.sharding.spec)), f"{here:,}", place.reason)
        )
    rows.append(("", "", "", f"{total:,}", f"of {whole:,} in all"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "    ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _trimmed(axes: Sequence[str | None]) -> PartitionSpec:
    """Return a specification without what it need not say, as JAX compares them."""
    last = max((dim for dim, axis in enumerate(axes) if axis is not None), default=-1)
    return PartitionSpec(*axes[: last + 1])


def _pairs_of(rules: object) -> list[tuple[Any, Any]]:
    given = list(rules.items()) if isinstance(rules, Mapping) else rules
    if given is None:
        return []
    is_list = isinstance(given, list | tuple)
    if not is_list or any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in given):  # type: ignore[attr-defined]
        raise errors.BadTypeError(
            "layout must be a mapping or list of pairs of a regular expression and axes, such as {r'kernel$': (None, "
            f"'model')}}. Received: layout={shown(rules)}."
        )
    return [(pair[0], pair[1]) for pair in given]  # type: ignore[attr-defined]


def _read_rule(mesh: Mesh | AbstractMesh, pattern: object, axes: object) -> Rule:
    if not isinstance(pattern, str | re.Pattern):
        raise errors.BadTypeError(
            f"A layout's rule begins with a regular expression. Received: {shown(pattern)}: {shown(axes)}."
        )
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise errors.BadArgumentError(
            f"The regular expression of a layout's rule is broken: {error}. Received: {shown(pattern)}."
        ) from error
    if axes is not None and not isinstance(axes, tuple | list):
        raise errors.BadTypeError(
            "A layout's rule gives the name of an axis, or None, for each dimension, or None for a copy on each "
            f"device. Received: {shown(pattern)}: {shown(axes)}. Write a tuple, such as (None, 'shard')."
        )
    named = [axis for axis in axes or () if axis is not None]
    known = [axis for axis in mesh.axis_names if axis != "replica"]
    for axis in named:
        if isinstance(axis, tuple | list):
            raise errors.BadArgumentError(
                f"A layout's rule divides a dimension by several axes. Expected: one of {known}, or None, for each "
                f"dimension. Received: {shown(pattern)}: {shown(axes)}. Divide another dimension by the second axis, "
                "as in ('shard', 'model')."
            )
        if axis not in known:
            raise errors.BadArgumentError(
                f"A layout's rule names an axis that variables are not divided by. Expected: {known}. Received: "
                f"{shown(axis)} in the rule {shown(pattern)}: {shown(axes)}."
            )
    if len(set(named)) < len(named):
        raise errors.BadArgumentError(
            "A layout's rule divides two dimensions by one axis. Expected: each axis once. Received: "
            f"{shown(pattern)}: {shown(axes)}."
        )
    return Rule(compiled, None if axes is None else tuple(axes), isinstance(pattern, ReadyPattern))
