"""Plans that read some of their files only (data layer)."""

from collections.abc import Callable

from stratax.data.ops import (
    Batch,
    Cache,
    Choose,
    Concatenate,
    Filter,
    Groups,
    Interleave,
    Map,
    NamedColumns,
    PaddedBatch,
    Prefetch,
    Repeat,
    Shuffle,
    Unbatch,
    Zip,
)
from stratax.data.plan import Node, walk
from stratax.data.sources import NamedFiles, Range

# Steps whose elements are the same ones all together when each worker reads some of the files.
_COMMUTING = (
    Batch,
    Cache,
    Choose,
    Concatenate,
    Filter,
    Groups,
    Interleave,
    Map,
    NamedColumns,
    PaddedBatch,
    Prefetch,
    Repeat,
    Shuffle,
    Unbatch,
)


class FileShards:
    """Rewrites a plan so that it reads some of its files only.

    Args:
        part: Gives a part of a node.
        over: Puts a step over other nodes.

    Attributes:
        counts: For each place where files are read, how many there are.
        obstacle: A step that means something else over some of the files; empty if there is none.
        has_unpaired: Whether files are zipped with something that is not divided with them.
    """

    def __init__(self, part: Callable[[Node], Node], over: Callable[..., Node]) -> None:
        self._part = part
        self._over = over
        self._done: dict[int, Node] = {}
        self.counts: list[int] = []
        self.obstacle = ""
        self.has_unpaired = False

    def of(self, node: Node) -> Node:
        """Return the plan over some of its files; a node that several others read from stays one."""
        # Once per node: a plan may reach the same source in two ways, and both must get the same files.
        if id(node) not in self._done:
            self._done[id(node)] = self._new(node)
        return self._done[id(node)]

    def _new(self, node: Node) -> Node:
        if isinstance(node, NamedFiles):
            return node.with_names(self._make_named(node.names))
        children = [self.of(child) for child in node.children]
        pairs = list(zip(children, node.children, strict=True))
        if any(new is not old for new, old in pairs):
            return self._over(node, *self._complete(node, pairs))
        if isinstance(node, Interleave) and _reads_files(node.first_inner()):
            return self._over(node, self._make_named(node.children[0]))
        return node

    def _complete(self, node: Node, pairs: list[tuple[Node, Node]]) -> list[Node]:
        """Return a step's nodes, those divided that read no files where they have to be."""
        if not isinstance(node, _COMMUTING):
            self.obstacle = node.label
        if isinstance(node, Zip):
            # Elements of divided files would meet those of a member that is whole; numbers are taken as they
            # come.
            self.has_unpaired |= any(new is old and not isinstance(old, Range) for new, old in pairs)
        if isinstance(node, Concatenate | Choose):
            # A member without files is divided by elements, else every worker would read all of it. What chooses among
            # members stays whole.
            first = 1 if isinstance(node, Choose) else 0
            members = [self._part(old) if new is old else new for new, old in pairs[first:]]
            return [*(new for new, _ in pairs[:first]), *members]
        return [new for new, _ in pairs]

    def _make_named(self, names: Node) -> Node:
        # How many files there are decides whether they can be divided; see `AutoShardPolicy`.
        self.counts.append(names.length)
        return self._part(names)


def _reads_files(node: Node | None) -> bool:
    return node is not None and any(isinstance(step, NamedFiles) for step in walk(node))
