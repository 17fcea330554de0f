"""`tf.compat.v1.saved_model.load`: a SavedModel's graph in the graph of a session (saved_models layer)."""

import os
from typing import Any

from stratax.tensorflow.saved_models._import_graph import add_meta_graph, asset_paths
from stratax.tensorflow.saved_models._loading import read_meta_graph
from stratax.tensorflow.saved_models.messages import Message
from stratax.tensorflow.v1 import variables_initializer


def load_into_session(
    sess: Any,
    tags: Any,
    export_dir: str | bytes | os.PathLike[Any],
    import_scope: str | None = None,
    **saver_kwargs: object,
) -> Message:
    """Add a SavedModel's graph to that of a session, as `tf.compat.v1.saved_model.load`.

    Its variables have the values that were saved, its tables what was in them.

    Args:
        sess: The session.
        tags: The tags of the graph.
        export_dir: The folder.
        import_scope: What names begin with.
        **saver_kwargs: Ignored.

    Returns:
        The `MetaGraphDef`, whose `signature_def` has the names of tensors.

    Raises:
        BadArgumentError: There is no graph with such tags.
        DataLossError: It is damaged.
        FileMissingError: There is none.
    """
    del saver_kwargs
    folder = os.fsdecode(export_dir)
    meta = read_meta_graph(folder, tags)
    with sess.graph.as_default():
        variables = add_meta_graph(meta, folder, asset_paths(meta, folder), import_scope or "")
        sess.run(variables_initializer(variables))
    return meta
