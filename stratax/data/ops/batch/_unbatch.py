"""`unbatch`: the node, and the rewriting of a plan that ends with `batch` (data layer)."""

from typing import Any

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import (
    INFINITE_CARDINALITY,
    CompositeSpec,
    DatasetSpec,
    TensorSpec,
    flatten,
    unflatten,
)
from stratax.data.ops._prefetch import Prefetch
from stratax.data.ops._take_skip import Take
from stratax.data.ops.batch._batch import Batch
from stratax.data.ops.batch._cursors import UnbatchCursor
from stratax.data.plan import Lookahead, Node, OverOne, PlanRun
from stratax.data.position import Cursor
from stratax.errors import DataError


class Unbatch(OverOne):
    """The slices of each element along its first axis."""

    label = "Unbatch"
    is_indexable = False
    batch_size = None

    @property
    def spec(self) -> Any:
        """The child's without the leading axis."""
        specs, structure = flatten(self.child.spec)
        return unflatten(structure, [self._inner(spec) for spec in specs])

    @staticmethod
    def _inner(spec: PyTree) -> TensorSpec | CompositeSpec | DatasetSpec:
        if isinstance(spec, DatasetSpec):
            return spec.unbatched()
        if spec.shape == ():
            raise DataError(
                "unbatch takes elements apart along their first axis, so every component needs one. "
                f"Received: a component {shown(spec)}. Batch first."
            )
        if isinstance(spec, CompositeSpec):
            return spec.unbatched()
        return TensorSpec(None if spec.shape is None else spec.shape[1:], spec.dtype)

    @property
    def length(self) -> int:
        """Known where every element has the same known number of slices."""
        length = self.child.length
        sizes = {spec.shape for spec in flatten(self.child.spec)[0]}
        leading = {shape[0] if shape else None for shape in sizes}
        size = leading.pop() if len(leading) == 1 else None
        if length == 0 or (length > 0 and size is not None and self.child.is_uniform):
            return length * (size or 0)
        return length if length == -1 else -2

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over slice after slice of each element."""
        child = self.child
        return UnbatchCursor(child.open(run, passes), Lookahead(child))


def _is_changed(node: Node) -> bool:
    """Return whether what is known of elements says that they come out of a batch in another form: as large as it."""
    return node.has_known_spec and bool(node.composites)


def make_unbatch(node: Node) -> Node:
    """Make an `unbatch`; directly after `batch` it undoes it."""
    # Reading batches ahead means nothing for their elements.
    inner = node.child if isinstance(node, Prefetch) else node
    if not isinstance(inner, Batch) or _is_changed(inner.child):
        made = Unbatch(node)
        if node.has_known_spec:
            # Raised here, as by TensorFlow, and not by the first element.
            _ = made.spec
        return made
    length = inner.child.length
    if not inner.drop_remainder or length == INFINITE_CARDINALITY:
        return inner.child
    # Without the elements that the short last batch would have had.
    return Take(inner.child, inner.length * inner.size) if length >= 0 else Unbatch(node)
