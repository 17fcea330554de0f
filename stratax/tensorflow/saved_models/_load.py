"""`tf.saved_model.load` of TensorFlow's SavedModels, and of what Stratax has saved (saved_models layer)."""

import os
from typing import Any

from stratax.export.parts import contains
from stratax.tensorflow.exports import saved_model
from stratax.tensorflow.saved_models._loading import SavedModel, is_saved_model


def load(
    export_dir: str | bytes | os.PathLike[Any],
    tags: Any = None,
    options: saved_model.LoadOptions | None = None,
) -> Any:
    """Load what was saved, as `tf.saved_model.load`: by TensorFlow, or by `tf.saved_model.save` of Stratax.

    Of a SavedModel that TensorFlow wrote the operations of its graphs become those of compiled functions; text, parsing
    and tables are the host's. No code of the file is executed, and it reads no other files than its own. Variables are
    those of the scope in which it is called, and may be assigned and trained. Functions may be called in
    `tf.function`, `Strategy.run` and under a `GradientTape`, too; they take what they were saved for.

    Args:
        export_dir: The folder.
        tags: None, or those that it was saved with, such as ``"serve"``.
        options: Accepted for programs that were carried over.

    Returns:
        An object with what the saved one had in its attributes (functions, variables, lists, dicts, assets), and with
        `signatures`, which take tensors by name and give a dict of them.

    Raises:
        BadArgumentError: It has other tags.
        DataLossError: It is damaged, or of a newer format.
        DeviceError: It was not made for what JAX computes on here.
        FileMissingError: There is nothing.
        UnimplementedError: `model.save` has written it, or its graph is text. A function with an operation that is not
            known raises it when it is first called, and names the operation and where it stands.

    Example:
        >>> import tempfile
        >>> import stratax.tf as tf
        >>> module = tf.Module()
        >>> module.double = tf.function(lambda x: x * 2, input_signature=[tf.TensorSpec((None,), tf.float32)])
        >>> folder = tempfile.mkdtemp()
        >>> tf.saved_model.save(module, folder)
        >>> tf.saved_model.load(folder).double([1.0, 2.0]).tolist()
        [2.0, 4.0]
    """
    path = os.fsdecode(export_dir)
    if not contains(path) and is_saved_model(path):
        return SavedModel(path, tags).root
    return saved_model.load(export_dir, tags, options)


def contains_saved_model(export_dir: str | bytes | os.PathLike[Any]) -> bool:
    """Return whether `load` finds something in a folder: what `save` or TensorFlow has written.

    Args:
        export_dir: The folder.
    """
    return saved_model.contains_saved_model(export_dir) or is_saved_model(os.fsdecode(export_dir))
