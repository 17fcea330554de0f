"""The base class that heads of programs for TensorFlow 1 inherit from (tf layer)."""


class _Head:
    """What a model's output is for: its loss, its predictions and its metrics.

    A program's own head overrides `name`, `logits_dimension`, `create_loss` and `create_estimator_spec`, and calls
    the last of them in its `model_fn`.
    """
