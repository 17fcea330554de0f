"""What sources that read named files have in common (data layer)."""

import abc

from stratax.data._node import Node


class NamedFiles(Node):
    """A source whose elements come from files that another node names, so that it can read some of them only."""

    @property
    def names(self) -> Node:
        """The node that gives the names."""
        return self.children[0]

    @abc.abstractmethod
    def with_names(self, names: Node) -> Node:
        """The same source over other files."""
