"""The weights of a model of Keras, from a checkpoint of TensorFlow (checkpoint layer)."""

import dataclasses
import os
import pathlib

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import saving
from stratax.checkpoint.saving import Checkpoint
from stratax.tensorflow.checkpoints import _conversion, _conversion_target, _tensorflow
from stratax.tensorflow.checkpoints._named_values import give

_NAMED = 3
_OPTIMIZER = "model/optimizer/"


class WeightsStatus:
    """What `Model.load_weights` returns for a checkpoint of TensorFlow, as there.

    Args:
        left: The names of the values that no weight has taken.
    """

    def __init__(self, left: list[str]) -> None:
        self._left = left

    def assert_consumed(self) -> "WeightsStatus":
        """Check that every value was taken.

        Raises:
            RestoreError: If not.
        """
        if self._left:
            raise errors.RestoreError(
                "Values of a checkpoint are no weights of the model. Expected: every value in use. Received: "
                f"{saving.listing(self._left)}."
            )
        return self

    def assert_existing_objects_matched(self) -> "WeightsStatus":
        """Return this status: every weight has its value, or `load_weights` had raised."""
        return self

    def assert_nontrivial_match(self) -> "WeightsStatus":
        """Return this status: every weight has its value, or `load_weights` had raised."""
        return self

    def expect_partial(self) -> "WeightsStatus":
        """Return this status: nothing is said of values that are left."""
        return self


def has_tensorflow_weights(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is that of a checkpoint or a SavedModel that TensorFlow wrote."""
    place = pathlib.Path(path)
    return _tensorflow.is_written_by_tensorflow(place) or (place / "saved_model.pb").is_file()


def load_weights(model: object, path: str | os.PathLike[str]) -> WeightsStatus:
    """Give a model the weights of a checkpoint of TensorFlow, all or none; its optimizer stays as it is.

    Args:
        model: A built model of Keras.
        path: The checkpoint, or a SavedModel.

    Raises:
        BadArgumentError: If the model has no weights yet.
        RestoreError: If a weight has no value of its shape.
        DataLossError: If the checkpoint is damaged.
    """
    graph = saving.find(Checkpoint(model=model))
    graph.variables = {key: each for key, each in graph.variables.items() if not key.startswith(_OPTIMIZER)}
    if not graph.variables:
        raise _conversion_target.without_variables(model)
    target = saving.take(graph, saving.values(graph))
    aliases = {alias: key for alias, key in target.aliases.items() if not key.startswith(_OPTIMIZER)}
    report = _conversion.convert(_conversion.source_of(path), dataclasses.replace(target, aliases=aliases))
    wrong = [
        f"{target.names[row.here or '']}: {row.why}"
        for row in report.rows
        if row.status in (_conversion.MISSING, _conversion.DIFFERENT)
    ]
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        raise errors.RestoreError(
            f"The checkpoint is of another model; no weight was changed. Received: {shown(os.fspath(path))}, where "
            f"{'; '.join(wrong[:_NAMED])}{more}. `stratax convert checkpoint --dry-run` compares all names."
        )
    taken = [row.here for row in report.rows if row.status == _conversion.MATCHED]
    for key in taken:
        if key in graph.variables:
            give(graph.variables[key], report.contents.arrays[key])
    return WeightsStatus([row.name or "" for row in report.rows if row.status == _conversion.UNEXPECTED])
