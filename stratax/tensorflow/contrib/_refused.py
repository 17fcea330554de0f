"""Functions of `tf.contrib` that programs import and seldom call: they say what to use instead."""

from collections.abc import Callable
from typing import NoReturn

from stratax import errors


def _refused(name: str, instead: str) -> Callable[..., NoReturn]:
    def refused(*args: object, **kwargs: object) -> NoReturn:
        raise errors.BadArgumentError(f"There is no tf.contrib.{name} here. {instead}")

    refused.__name__ = refused.__qualname__ = name.rpartition(".")[2]
    refused.__doc__ = f"Raise a BadArgumentError: {instead}"
    return refused


_QUANTIZE = "It rewrites a graph of TensorFlow's. Train without it, and quantize what you export."
create_training_graph = _refused("quantize.create_training_graph", _QUANTIZE)
create_eval_graph = _refused("quantize.create_eval_graph", _QUANTIZE)
experimental_create_training_graph = _refused("quantize.experimental_create_training_graph", _QUANTIZE)
experimental_create_eval_graph = _refused("quantize.experimental_create_eval_graph", _QUANTIZE)
create_inference_graph = _refused(
    "tensorrt.create_inference_graph",
    "It rewrites a graph of TensorFlow's. Serve an export, which XLA compiles.",
)
BigtableClient = _refused(
    "cloud.BigtableClient", "Read the table with google-cloud-bigtable, in Dataset.from_generator."
)
configure_gcs = _refused(
    "cloud.configure_gcs",
    "Files of gs:// are opened by gcsfs, with the credentials that Google's libraries find.",
)
