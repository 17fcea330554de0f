"""How values of several replicas become one (distribute layer)."""

import enum

from stratax.base.shown import shown
from stratax.errors import BadArgumentError


class ReduceOp(enum.Enum):
    """How values of several replicas become one, as ``tf.distribute.ReduceOp``.

    * ``SUM``: add all the values.
    * ``MEAN``: the arithmetic mean of the values.

    Wherever a `ReduceOp` is taken, its name is too, in upper or lower case.
    """

    SUM = "SUM"
    MEAN = "MEAN"


def as_reduce_op(value: object) -> ReduceOp:
    """Return the `ReduceOp` that `value` names.

    Args:
        value: A `ReduceOp`, or ``"sum"`` or ``"mean"`` in upper or lower case.

    Returns:
        The operation.

    Raises:
        BadArgumentError: If it is neither.

    Example:
        >>> as_reduce_op("mean")
        <ReduceOp.MEAN: 'MEAN'>
    """
    if isinstance(value, ReduceOp):
        return value
    if isinstance(value, str) and value.upper() in ReduceOp.__members__:
        return ReduceOp[value.upper()]
    raise BadArgumentError(
        "reduce_op must be ReduceOp.SUM or ReduceOp.MEAN, or their names as strings. "
        f"Received: reduce_op={shown(value)}."
    )
