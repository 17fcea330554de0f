"""Read a node for others: how far ahead, and its first element (data layer)."""

import math
from collections.abc import Callable
from typing import TypeVar

from stratax.base.typing import PyTree
from stratax.data.elements import Row, TensorSpec, flatten
from stratax.data.plan._node import Node
from stratax.data.plan._run import PlanRun
from stratax.data.position import Feed, ReadAhead
from stratax.errors import DataError

_READ_AHEAD_BYTES = 1 << 18
_READ_AHEAD_ROWS = 256
_STRING_BYTES = 1 << 10
_REFERENCE_BYTES = 8
_ASK_AGAIN = 32
_TRIES = 8
_Found = TypeVar("_Found")


def read_ahead(node: Node) -> int:
    """Return how many elements of `node` to gather in one go when they are asked for one by one."""
    limits = _limits(node)
    if limits:
        return min(limits)
    try:
        leaves = flatten(node.spec)[0]
    except DataError:
        # What is wrong with the elements will be said when one is made.
        return 1
    of_string = _REFERENCE_BYTES if node.is_indexable and node.is_in_memory else _STRING_BYTES
    size = max(1, sum(_bytes_of(leaf, of_string) for leaf in leaves))
    return max(1, min(_READ_AHEAD_BYTES // size, _READ_AHEAD_ROWS))


def _limits(node: Node) -> list[int]:
    """Return how many elements of `node` each step that minds lets be made ahead; those of a batch count."""
    limits: list[int] = []
    pending, seen = [(node, 1)], set()
    while pending:
        step, per_element = pending.pop()
        if id(step) not in seen:
            seen.add(id(step))
            own = step.reads_ahead
            if own is not None:
                limits.append(max(1, own // per_element))
            if step.children:
                of_children = per_element * step.group_size
                pending += [(child, of_children) for child in step.children]
    return limits


def _bytes_of(spec: PyTree, of_string: int) -> int:
    shape = spec.shape if isinstance(spec, TensorSpec) else None
    if shape is None or None in shape:
        return _READ_AHEAD_BYTES
    dtype = spec.dtype
    return math.prod([size or 0 for size in shape]) * (of_string if dtype.hasobject else dtype.itemsize)


def feed_of(node: Node, run: PlanRun, passes: int = 0) -> Feed:
    """Open a node, with elements read some ahead where that is unobservable."""
    cursor, ahead = node.open(run, passes), Lookahead(node)
    # What a thread reads ahead is held back already.
    return cursor.as_feed(ahead) if isinstance(cursor, ReadAhead) else Feed(cursor, ahead)


class Lookahead:
    """How many elements of a node to read at once; asked again while its functions may turn out to be pure."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._size = 0
        self._asked = 0

    def __call__(self) -> int:
        # A function counts as impure until it was traced, which happens with the first elements.
        if self._size <= 1 and self._asked < _ASK_AGAIN:
            self._asked += 1
            self._size = read_ahead(self._node)
        return self._size


def find_first(node: Node, find: Callable[[Row], _Found]) -> _Found | None:
    """Return what `find` gives for a node's first element, in an iteration of its own; `None` if there is no element.

    Of elements that can't be made, or fail in `find`, some are passed over; if all do, the first failure is raised.
    """
    run = PlanRun()
    failure: Exception | None = None
    try:
        cursor = node.open(run)
        for _ in range(_TRIES):
            try:
                return find(cursor.read(1).row(0))
            except StopIteration:
                break
            except Exception as e:
                failure = failure or e
    finally:
        run.close()
    if failure is not None:
        raise failure
    return None
