"""What the compiler for TPUs and the roofline say of known models, beside what was published of them.

Nothing is run: the training step is compiled for the slice. What was published is how fast the same model trained on
the same slice, from the logs of MLPerf Training: examples between two marks that enclose training and hardly anything
else. The figure is how many times as fast the estimate is; since it knows only peaks, it is above 1.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import keras

import stratax as sx
from benchmarks import _measure

_IMAGENET = 1281167
_LOGS = "github.com/mlcommons/training_results_"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """What a log says.

    Attributes:
        model: Which of the models below.
        topology: The slice, as the cloud names it.
        batch: The global batch.
        examples: How many examples were trained on between the two marks.
        milliseconds: How long that took.
        source: The log, and the marks.
    """

    model: str
    topology: str
    batch: int
    examples: int
    milliseconds: int
    source: str

    @property
    def per_second(self) -> float:
        """Examples per second."""
        return 1000 * self.examples / self.milliseconds


PUBLISHED = {
    "resnet-v2-8": Published(
        model="resnet50",
        topology="v2-8",
        batch=1024,
        examples=4 * _IMAGENET,
        milliseconds=1541662444_602 - 1541661299_420,
        source=f"{_LOGS}v0.5: v0.5.0/google/cloud_v2.8/resnet-tpuv2-8/results/tpu/resnet/result_0.txt, "
        "from eval_stop of epoch 0 to eval_start of epoch 4",
    ),
    "resnet-v3-8": Published(
        model="resnet50",
        topology="v3-8",
        batch=1024,
        examples=4 * _IMAGENET,
        milliseconds=1541661350_960 - 1541660663_491,
        source=f"{_LOGS}v0.5: v0.5.0/google/cloud_v3.8/resnet-tpuv3-8/results/tpu/resnet/result_0.txt, "
        "from eval_stop of epoch 0 to eval_start of epoch 4",
    ),
    "resnet-v3-32": Published(
        model="resnet50",
        topology="v3-32",
        batch=4096,
        examples=4 * _IMAGENET,
        milliseconds=1595499673_767 - 1595499516_492,
        source=f"{_LOGS}v0.7: Google/results/tpu-v3-32-TF2.0/resnet/result_0.txt, "
        "from block_start of epoch 3 to eval_start of epoch 6",
    ),
    "resnet-v4-128": Published(
        model="resnet50",
        topology="v4-128",
        batch=8192,
        examples=4 * _IMAGENET,
        milliseconds=1620425361_268 - 1620425338_059,
        source=f"{_LOGS}v1.0: Google/results/tpu-v4-128-TF/resnet/result_0.txt, "
        "from block_start to block_stop of epoch 7, evaluation included",
    ),
    "bert-v3-32": Published(
        model="bert_large",
        topology="v3-32",
        batch=448,
        examples=1117 * 448,
        milliseconds=1594330486_814 - 1594329972_397,
        source=f"{_LOGS}v0.7: Google/results/tpu-v3-32-TF2.0/bert/result_0.txt, "
        "from block_start to block_stop of step 1117",
    ),
}


def estimated(*, plan: _measure.Plan, name: str) -> _measure.Figure:
    """Compile a model for a slice, and compare the estimated speed with the published one."""
    published = PUBLISHED[name]
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    model, specs = _MODELS[published.model](published.batch)
    report = sx.tpu.compile(model, published.topology, *specs)
    if not report.fits or report.estimate is None:
        raise RuntimeError(f"{name} does not compile or fit: {report.failure}")
    times = {f"{part}_ms": getattr(report.estimate, part) * 1e3 for part in ("compute", "memory", "links")}
    details = {
        "published_/s": published.per_second,
        "at_most_/s": report.examples_per_second,
        "one_by_one_/s": published.batch / report.estimate.one_by_one,
    }
    return _measure.spread([report.examples_per_second / published.per_second], details | times)


def _resnet50(batch: int) -> tuple[keras.Model, tuple[Any, ...]]:
    # The logs have version 1.5: strides in the second convolution of a block, not the first, a little more to compute.
    model = keras.applications.ResNet50(weights=None)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy")
    # The logs' programs hand images to the device as bfloat16.
    return model, (_spec((batch, 224, 224, 3), "bfloat16"), _spec((batch,), "int32"))


def _bert_large(batch: int) -> tuple[keras.Model, tuple[Any, ...]]:
    """BERT-large with sequences of 512, of which 76 words are to be found, as in MLPerf."""
    length, words, width, vocabulary = 512, 76, 1024, 30522
    layers = keras.layers
    ids = keras.Input((length,), dtype="int32", name="ids")
    segments = keras.Input((length,), dtype="int32", name="segments")
    mask = keras.Input((length,), dtype="bool", name="mask")
    places = keras.Input((words,), dtype="int32", name="places")
    table = layers.Embedding(vocabulary, width)
    positions = layers.Embedding(length, width)(keras.ops.arange(length))
    x = table(ids) + layers.Embedding(2, width)(segments) + positions
    x = layers.Dropout(0.1)(layers.LayerNormalization(epsilon=1e-12)(x))
    for _ in range(24):
        x = _encoder(x, mask, width)
    first = layers.Dense(width, activation="tanh")(x[:, 0])
    follows = layers.Dense(2, dtype="float32", name="follows")(first)
    found = keras.ops.take_along_axis(x, places[:, :, None], axis=1)
    found = layers.LayerNormalization(epsilon=1e-12)(layers.Dense(width, activation="gelu")(found))
    masked = layers.Dense(vocabulary, dtype="float32", name="masked")(found)
    model = keras.Model([ids, segments, mask, places], {"follows": follows, "masked": masked})
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Lamb(4e-4), {"follows": loss, "masked": loss})
    x_specs = [_spec((batch, length), "int32")] * 2
    x_specs += [_spec((batch, length), "bool"), _spec((batch, words), "int32")]
    y_specs = {"follows": _spec((batch,), "int32"), "masked": _spec((batch, words), "int32")}
    return model, (x_specs, y_specs)


def _encoder(x: Any, mask: Any, width: int) -> Any:
    layers = keras.layers
    attended = layers.MultiHeadAttention(16, width // 16, dropout=0.1)(x, x, attention_mask=mask[:, None, :])
    x = layers.LayerNormalization(epsilon=1e-12)(x + layers.Dropout(0.1)(attended))
    inner = layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(x))
    return layers.LayerNormalization(epsilon=1e-12)(x + layers.Dropout(0.1)(inner))


def _spec(shape: tuple[int, ...], dtype: str) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


_MODELS: dict[str, Callable[[int], tuple[keras.Model, tuple[Any, ...]]]] = {
    "resnet50": _resnet50,
    "bert_large": _bert_large,
}
