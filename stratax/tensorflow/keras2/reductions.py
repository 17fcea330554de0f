"""`tf.keras.losses.Reduction`: Keras 2's names for what becomes of the losses of examples (keras2 layer)."""

from stratax.base.shown import shown
from stratax.errors import BadArgumentError


class Reduction:
    """How the losses of examples become one number, as `tf.keras.losses.Reduction`.

    Attributes:
        AUTO: The mean over the batch.
        NONE: They stay as they are.
        SUM: Their sum.
        SUM_OVER_BATCH_SIZE: The mean over the batch.
    """

    AUTO = "sum_over_batch_size"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return the values."""
        return (cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)

    @classmethod
    def validate(cls, key: str) -> None:
        """Check a value.

        Args:
            key: The value.

        Raises:
            BadArgumentError: If it is none of them.
        """
        if key not in cls.all():
            raise BadArgumentError(f"A reduction is one of {cls.all()}. Received: key={shown(key)}.")
