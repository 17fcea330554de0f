"""`ModeKeys`: what a `model_fn` is traced for (estimator layer)."""

from typing import Final


class ModeKeys:
    """The modes of a `model_fn`, as `tf.estimator.ModeKeys`.

    Attributes:
        TRAIN: A step of training.
        EVAL: A step of evaluation.
        PREDICT: Predictions of a batch.
    """

    TRAIN: Final = "train"
    EVAL: Final = "eval"
    PREDICT: Final = "infer"


MODES = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)
