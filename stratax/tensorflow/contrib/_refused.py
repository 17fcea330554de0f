"""Functions of `tf.contrib` that programs import and seldom call: they say what to use instead."""

from collections.abc import Callable
from typing import NoReturn

from stratax import errors


def _make_refusal(name: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise errors.BadArgumentError(f"There is no tf.contrib.{name} here. {instead}")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = f"Raise a BadArgumentError: {instead}"
    return refuse


_QUANTIZE = "It rewrites a graph of TensorFlow's. Train without it, and quantize what you export."
create_training_graph = _make_refusal("quantize.create_training_graph", _QUANTIZE)
create_eval_graph = _make_refusal("quantize.create_eval_graph", _QUANTIZE)
experimental_create_training_graph = _make_refusal("quantize.experimental_create_training_graph", _QUANTIZE)
experimental_create_eval_graph = _make_refusal("quantize.experimental_create_eval_graph", _QUANTIZE)
create_inference_graph = _make_refusal(
    "tensorrt.create_inference_graph",
    "It rewrites a graph of TensorFlow's. Serve an export, which XLA compiles.",
)
BigtableClient = _make_refusal(
    "cloud.BigtableClient", "Read the table with google-cloud-bigtable, in Dataset.from_generator."
)
configure_gcs = _make_refusal(
    "cloud.configure_gcs",
    "Files of gs:// are opened by gcsfs, with the credentials that Google's libraries find.",
)
