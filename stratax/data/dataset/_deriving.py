"""What the parts of the class Dataset need of the whole (data layer)."""

import abc
from typing import Any

from stratax.data.dataset._options import Options
from stratax.data.elements import Nested
from stratax.data.plan import Node


class Deriving(Nested):
    """A Dataset that others are made of.

    Attributes:
        _node: Its plan.
        _options: Its options.
    """

    _node: Node
    _options: Options

    @abc.abstractmethod
    def _derive(self, node: Node, *others: Any) -> Any:
        """Make a Dataset over this one's elements and those of others, whose options take precedence."""


def node_of(dataset: Any) -> Node:
    """Return the plan of a Dataset that a user's function made."""
    node: Node = dataset._node
    return node
