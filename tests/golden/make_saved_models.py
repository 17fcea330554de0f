"""Make SavedModels with TensorFlow, and its answers: `python make_saved_models.py FOLDER [REGEX]`.

Run it with TensorFlow 2.21, then with 2.15, which has Estimators and writes models of Keras 2. Below the folder each
case is a SavedModel `NAME/model` and an archive `NAME/answers.npz`: arrays `SIGNATURE/in/KEY` and `SIGNATURE/out/KEY`,
text as bytes. `python -m tests.golden.saved_models_cases FOLDER` loads all of them with Stratax and compares; a few, as
`NAME.zip` in `tests/golden/saved_models`, are those of the tests.
"""

import os
import pathlib
import re
import sys
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import tensorflow as tf

V1 = tf.compat.v1
IS_KERAS_2 = tf.__version__ < "2.16"
CASES = {}
F32, I32, I64, STR, BOOL = tf.float32, tf.int32, tf.int64, tf.string, tf.bool


def case(name):
    def add(function):
        CASES[name] = function
        return function

    return add


def random(shape, dtype=F32, seed=0, low=-2.0, high=2.0):
    generator = np.random.default_rng(seed)
    if dtype == F32:
        return generator.uniform(low, high, shape).astype(np.float32)
    if dtype == BOOL:
        return generator.integers(0, 2, shape).astype(bool)
    if dtype == STR:
        words = [
            b"the quick fox",
            b"Lazy dog",
            b"12",
            b"",
            b"a,b,c",
            "größe".encode(),
            b"hello World!",
            b"3.5",
        ]
        made = np.array(
            [words[each] for each in generator.integers(0, len(words), int(np.prod(shape)))], object
        )
        return made.reshape(shape)
    return generator.integers(0, 5, shape).astype(dtype.as_numpy_dtype)


# Functions of a `tf.Module`: what they take, and what they compute.
X = ((3, 4), F32)
IMAGE = ((2, 8, 8, 3), F32)
ELEMENTWISE = {
    "trigonometry": lambda x: (
        tf.sin(x),
        tf.cos(x),
        tf.tan(x),
        tf.asin(x / 3),
        tf.acos(x / 3),
        tf.atan(x),
        tf.sinh(x),
        tf.cosh(x),
        tf.asinh(x),
        tf.acosh(tf.abs(x) + 1.5),
        tf.atanh(x / 3),
        tf.atan2(x, x + 0.5),
    ),
    "exponentials": lambda x: (
        tf.exp(x),
        tf.math.expm1(x),
        tf.math.log(tf.abs(x)),
        tf.math.log1p(tf.abs(x)),
        tf.sqrt(tf.abs(x)),
        tf.math.rsqrt(tf.abs(x)),
        tf.square(x),
        tf.pow(tf.abs(x), 1.5),
    ),
    "special": lambda x: (
        tf.math.erf(x),
        tf.math.erfc(x),
        tf.math.lgamma(tf.abs(x) + 0.1),
        tf.math.digamma(tf.abs(x) + 0.1),
        tf.math.igamma(tf.abs(x), tf.abs(x) + 1),
        tf.math.erfinv(x / 3),
        tf.math.ndtri(tf.sigmoid(x)),
    ),
    "rounding": lambda x: (
        tf.floor(x),
        tf.math.ceil(x),
        tf.round(x),
        tf.math.rint(x),
        tf.sign(x),
        tf.abs(x),
        tf.negative(x),
        tf.math.reciprocal(x),
    ),
    "activations": lambda x: (
        tf.nn.relu(x),
        tf.nn.relu6(x),
        tf.nn.elu(x),
        tf.nn.selu(x),
        tf.nn.softplus(x),
        tf.nn.softsign(x),
        tf.sigmoid(x),
        tf.tanh(x),
        tf.nn.leaky_relu(x),
        tf.nn.gelu(x),
        tf.nn.silu(x),
    ),
    "binary": lambda x: (
        x + 1.0,
        x - x * 2.0,
        x / 3.0,
        tf.math.floordiv(x, 0.7),
        tf.math.floormod(x, 0.7),
        tf.maximum(x, 0.1),
        tf.minimum(x, 0.1),
        tf.math.squared_difference(x, 1.0),
        tf.math.divide_no_nan(x, 0.0),
        tf.math.multiply_no_nan(x, 0.0),
        tf.math.xlogy(tf.abs(x), 2.0),
    ),
    "comparing": lambda x: (
        x > 0.5,
        x >= 0.5,
        x < 0.5,
        x <= 0.5,
        tf.equal(x, x),
        tf.not_equal(x, 0.5),
        tf.logical_and(x > 0, x < 1),
        tf.logical_or(x > 0, x < -1),
        tf.logical_not(x > 0),
    ),
    "numbers": lambda x: (
        tf.math.is_nan(x),
        tf.math.is_finite(x),
        tf.math.is_inf(x / 0.0),
        tf.cast(x, tf.int32),
        tf.cast(x, tf.float16),
        tf.cast(x > 0, tf.float32),
    ),
    "reductions": lambda x: (
        tf.reduce_sum(x, 1),
        tf.reduce_mean(x, 0),
        tf.reduce_max(x, -1, keepdims=True),
        tf.reduce_min(x),
        tf.reduce_prod(x, [0, 1]),
        tf.reduce_any(x > 0, 1),
        tf.reduce_all(x > 0, 0),
        tf.reduce_logsumexp(x, 1),
        tf.math.reduce_std(x, 1),
        tf.norm(x),
    ),
    "arguments": lambda x: (
        tf.argmax(x, 1),
        tf.argmin(x, 0),
        tf.math.top_k(x, 2).values,
        tf.math.top_k(x, 2).indices,
        tf.sort(x, 1),
        tf.argsort(x, 1, direction="DESCENDING"),
        tf.math.in_top_k([1, 2, 3], x, 2),
    ),
    "cumulative": lambda x: (
        tf.cumsum(x, 1),
        tf.cumsum(x, 0, exclusive=True),
        tf.cumsum(x, 1, reverse=True),
        tf.math.cumprod(x, 1),
    ),
    "shapes": lambda x: (
        tf.reshape(x, [-1, 2]),
        tf.transpose(x),
        tf.expand_dims(x, 1),
        tf.squeeze(x[:, :1], 1),
        tf.tile(x, [1, 2]),
        tf.shape(x),
        tf.size(x),
        tf.rank(x),
        tf.broadcast_to(x[:, None], [3, 2, 4]),
        tf.reshape(x, tf.reverse(tf.shape(x), [0])),
    ),
    "slices": lambda x: (
        x[1:, ::2],
        x[..., -1],
        x[:, tf.newaxis, 1:3],
        x[::-1],
        tf.slice(x, [1, 0], [-1, 2]),
        x[-1],
        tf.strided_slice(x, [0, 1], [2, 4], shrink_axis_mask=1),
    ),
    "joining": lambda x: (
        tf.concat([x, x * 2], 1),
        tf.stack([x, x + 1], 1),
        tf.unstack(x, axis=1)[2],
        tf.split(x, 2, 1)[1],
        tf.split(x, [1, 3], 1)[1],
        tf.repeat(x, 2, 0),
        tf.roll(x, 1, 1),
        tf.reverse(x, [1]),
    ),
    "padding": lambda x: (
        tf.pad(x, [[1, 0], [0, 2]]),
        tf.pad(x, [[1, 1], [0, 2]], constant_values=3.0),
        tf.pad(x, [[1, 1], [1, 1]], "REFLECT"),
        tf.pad(x, [[1, 1], [1, 1]], "SYMMETRIC"),
    ),
    "making": lambda x: (
        tf.zeros_like(x),
        tf.ones_like(x),
        tf.fill(tf.shape(x), 2.5),
        tf.range(tf.shape(x)[0]),
        tf.linspace(0.0, 1.0, 5),
        tf.eye(3),
        tf.one_hot([0, 2, 1], 3),
        tf.sequence_mask([1, 3, 2], 4),
        tf.zeros([tf.shape(x)[0], 2]),
    ),
    "gathering": lambda x: (
        tf.gather(x, [2, 0]),
        tf.gather(x, [1, 3], axis=1),
        tf.gather_nd(x, [[0, 1], [2, 3]]),
        tf.gather(x, [[0, 1], [1, 2], [2, 3]], axis=1, batch_dims=1),
        tf.where(x > 0, x, -x),
        tf.where([True, False, True]),
    ),
    "scattering": lambda x: (
        tf.scatter_nd([[1], [3]], x[:2], [5, 4]),
        tf.tensor_scatter_nd_update(x, [[0], [2]], x[:2] * 2),
        tf.tensor_scatter_nd_add(x, [[1]], x[:1]),
        tf.tensor_scatter_nd_max(x, [[1]], x[:1]),
    ),
    "segments": lambda x: (
        tf.math.segment_sum(x, [0, 0, 1]),
        tf.math.segment_mean(x, [0, 1, 1]),
        tf.math.segment_max(x, [0, 0, 1]),
        tf.math.unsorted_segment_sum(x, [1, 0, 1], 3),
        tf.math.unsorted_segment_max(x, [1, 0, 1], 2),
        tf.math.unsorted_segment_mean(x, [1, 0, 1], 2),
    ),
    "products": lambda x: (
        tf.matmul(x, x, transpose_b=True),
        tf.matmul(x, x, transpose_a=True),
        tf.matmul(tf.stack([x, x]), tf.stack([x, x]), transpose_b=True),
        tf.tensordot(x, tf.transpose(x), 1),
        tf.einsum("ij,kj->ik", x, x),
        tf.linalg.matvec(x, [1.0, 2.0, 3.0, 4.0]),
    ),
    "linear algebra": lambda x: (
        tf.linalg.inv(tf.matmul(x, x, transpose_b=True) + tf.eye(3)),
        tf.linalg.det(tf.matmul(x, x, transpose_b=True) + tf.eye(3)),
        tf.linalg.cholesky(tf.matmul(x, x, transpose_b=True) + tf.eye(3)),
        tf.linalg.diag(x),
        tf.linalg.diag_part(x),
        tf.linalg.band_part(x, 0, 1),
        tf.linalg.solve(tf.matmul(x, x, transpose_b=True) + tf.eye(3), x),
        tf.linalg.trace(x[:, :3]),
        tf.linalg.set_diag(x[:, :3], [1.0, 2.0, 3.0]),
    ),
    "softmaxes": lambda x: (
        tf.nn.softmax(x),
        tf.nn.log_softmax(x),
        tf.nn.softmax(x, axis=0),
        tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x), x),
        tf.nn.sparse_softmax_cross_entropy_with_logits([1, 0, 3], x),
        tf.nn.sigmoid_cross_entropy_with_logits(tf.sigmoid(x), x),
        tf.nn.l2_loss(x),
        tf.nn.l2_normalize(x, 1),
    ),
    "bits": lambda x: (
        tf.bitwise.bitwise_and(tf.cast(x, I32), 3),
        tf.bitwise.bitwise_or(tf.cast(x, I32), 3),
        tf.bitwise.bitwise_xor(tf.cast(x, I32), 5),
        tf.bitwise.left_shift(tf.cast(tf.abs(x), I32), 2),
        tf.bitwise.invert(tf.cast(x, I32)),
        tf.bitcast(x, I32),
    ),
    "complex": lambda x: (
        tf.abs(tf.complex(x, x + 1)),
        tf.math.real(tf.complex(x, x)),
        tf.math.imag(tf.complex(x, x) * tf.complex(x, -x)),
        tf.abs(tf.signal.rfft(x)),
        tf.math.angle(tf.complex(x, x)),
        tf.signal.irfft(tf.signal.rfft(x)),
    ),
    "asserting": lambda x: (
        tf.ensure_shape(x, [None, 4]),
        tf.debugging.check_numerics(x, "bad"),
        tf.stop_gradient(x),
        tf.identity(x),
        tf.clip_by_value(x, -1.0, 1.0),
        tf.clip_by_norm(x, 1.0),
    ),
    "uniques": lambda x: (
        tf.unique(tf.cast(tf.reshape(x, [-1]), I32)).y,
        tf.unique(tf.cast(tf.reshape(x, [-1]), I32)).idx,
        tf.math.bincount(tf.cast(tf.abs(tf.reshape(x, [-1])), I32)),
        tf.searchsorted([-1.0, 0.0, 1.0], tf.reshape(x, [-1])),
        tf.math.invert_permutation([2, 0, 1]),
        tf.dynamic_partition(x, [0, 1, 0], 2)[0],
        tf.dynamic_stitch([[0, 2], [1]], [x[:2], x[2:]]),
    ),
    "meshes": lambda x: (
        *tf.meshgrid(x[0], x[1]),
        tf.reverse_sequence(x, [2, 3, 4], 1),
        tf.space_to_batch(x[None, :, :, None], [1, 2], [[0, 0], [0, 0]]),
        tf.add_n([x, x, x]),
        tf.linalg.cross(x[:, :3], x[:, 1:]),
    ),
    "v1 choice": lambda x: (
        V1.where(x[:, 0] > 0, x, -x),
        V1.div(tf.cast(x, I32), 2),
        tf.math.floordiv(tf.cast(x * 3, I32), 2),
        tf.truncatediv(tf.cast(x * 3, I32), 2),
        tf.math.mod(tf.cast(x * 3, I32), 2),
    ),
    "random shape": lambda x: (
        tf.shape(tf.random.uniform([3, 2])),
        tf.shape(tf.random.normal([2, 2])),
        tf.shape(tf.random.stateless_uniform([3, 2], [1, 2])),
    ),
    "bucketing": lambda x: (
        tf.raw_ops.Bucketize(input=x, boundaries=[-1.0, 0.0, 1.0]),
        tf.histogram_fixed_width(x, [-2.0, 2.0], 4),
        tf.quantization.fake_quant_with_min_max_args(x),
        tf.quantization.fake_quant_with_min_max_vars(x, -1.0, 1.0),
    ),
}
IMAGES = {
    "convolutions": lambda x: (
        tf.nn.conv2d(x, K, 1, "SAME"),
        tf.nn.conv2d(x, K, 2, "VALID"),
        tf.nn.conv2d(x, K, 1, "SAME", dilations=2),
        tf.nn.depthwise_conv2d(x, K, [1, 1, 1, 1], "SAME"),
        tf.nn.conv2d(x, K, 2, [[0, 0], [1, 1], [1, 1], [0, 0]]),
    ),
    "transposed": lambda x: (
        tf.nn.conv2d_transpose(x, tf.transpose(K, [0, 1, 3, 2]), [2, 16, 16, 5], 2, "SAME"),
        tf.nn.conv1d(x[:, 0], K[0], 1, "SAME"),
        tf.nn.conv3d(x[:, None], K[None], [1, 1, 1, 1, 1], "SAME"),
    ),
    "pools": lambda x: (
        tf.nn.max_pool2d(x, 2, 2, "VALID"),
        tf.nn.avg_pool2d(x, 3, 2, "SAME"),
        tf.nn.max_pool1d(x[:, 0], 2, 2, "SAME"),
        tf.nn.avg_pool3d(x[:, None], 1, 1, "SAME"),
        tf.nn.max_pool3d(x[:, None], [1, 2, 2], [1, 2, 2], "SAME"),
    ),
    "norms": lambda x: (
        V1.nn.fused_batch_norm(
            x, [1.0, 2.0, 3.0], [0.0, 1.0, 2.0], [0.1, 0.2, 0.3], [1.0, 2.0, 3.0], is_training=False
        )[0],
        tf.nn.lrn(x),
        tf.nn.bias_add(x, [1.0, 2.0, 3.0]),
        *tf.nn.moments(x, [1, 2]),
        V1.nn.fused_batch_norm(x, [1.0, 2.0, 3.0], [0.0, 1.0, 2.0])[0],
    ),
    "resizes": lambda x: (
        tf.image.resize(x, [5, 11]),
        tf.image.resize(x, [16, 16], "nearest"),
        tf.image.resize(x, [5, 5], "bicubic"),
        tf.image.resize(x, [4, 4], "area"),
        V1.image.resize_bilinear(x, [5, 5], align_corners=True),
        V1.image.resize_nearest_neighbor(x, [5, 5]),
    ),
    "colors": lambda x: (
        tf.image.rgb_to_grayscale(x),
        tf.image.rgb_to_hsv(tf.sigmoid(x)),
        tf.image.hsv_to_rgb(tf.sigmoid(x)),
        tf.image.adjust_contrast(x, 2.0),
        tf.image.adjust_brightness(x, 0.3),
        tf.image.adjust_saturation(tf.sigmoid(x), 0.5),
        tf.image.adjust_hue(tf.sigmoid(x), 0.1),
    ),
    "cropping": lambda x: (
        tf.image.central_crop(x, 0.5),
        tf.image.flip_left_right(x),
        tf.image.crop_and_resize(x, [[0.1, 0.2, 0.8, 0.9]], [1], [4, 4]),
        tf.image.rot90(x),
        tf.image.resize_with_crop_or_pad(x, 6, 10),
        tf.image.per_image_standardization(x),
    ),
    "blocks": lambda x: (
        tf.nn.space_to_depth(x, 2),
        tf.nn.depth_to_space(tf.concat([x] * 4, -1), 2),
        tf.space_to_batch(x, [2, 2], [[0, 0], [0, 0]]),
        tf.batch_to_space(tf.concat([x, x], 0), [2, 2], [[1, 0], [0, 0]]),
        tf.image.extract_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
    ),
}
K = tf.constant(random((3, 3, 3, 5), seed=3))
TEXT = {
    "text basics": lambda s: (
        tf.strings.length(s),
        tf.strings.lower(s),
        tf.strings.upper(s),
        tf.strings.substr(s, 0, 2, unit="BYTE"),
        tf.strings.strip(s),
        tf.strings.join([s, s], "-"),
        tf.strings.regex_replace(s, "[aeiou]", "_"),
        tf.strings.regex_full_match(s, ".*o.*"),
    ),
    "text hashes": lambda s: (
        tf.strings.to_hash_bucket_fast(s, 100),
        tf.strings.to_hash_bucket_strong(s, 100, [1, 2]),
        V1.strings.to_hash_bucket(s, 100),
        tf.strings.length(s, unit="UTF8_CHAR"),
        tf.equal(s, "12"),
        tf.reshape(s, [-1, 1]),
    ),
    "text splits": lambda s: (
        tf.strings.split(s).values,
        tf.strings.split(s).row_splits,
        tf.strings.split(s, ",").to_tensor(),
        tf.strings.unicode_decode(s, "UTF-8").to_tensor(),
        tf.strings.bytes_split(s).to_tensor(),
        tf.strings.reduce_join(s),
    ),
    "text sparse": lambda s: (
        V1.string_split(s).indices,
        V1.string_split(s).values,
        V1.string_split(s).dense_shape,
        tf.sparse.to_dense(V1.string_split(s), "none"),
        tf.strings.as_string(tf.strings.length(s)),
        tf.strings.ngrams(tf.strings.split(s), 2).to_tensor(),
    ),
    "text base64": lambda s: (
        tf.io.decode_base64(tf.io.encode_base64(s)),
        tf.strings.to_number(tf.where(tf.strings.regex_full_match(s, r"[0-9.]+"), s, "7")),
        tf.concat([s, s], 0),
        tf.gather(s, [1, 0]),
        tf.unique(s).y,
    ),
}


def loop(x):
    total = tf.zeros([4])
    for i in tf.range(tf.shape(x)[0]):
        total += x[i] * tf.cast(i, tf.float32)
    return total


def choose(x):
    if tf.reduce_sum(x) > 0:
        made = x * 2
    else:
        made = x - 1
    return made


def collatz(x):
    n = tf.cast(tf.reduce_sum(tf.abs(x)), tf.int32) + 5
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


CONTROL = {
    "loop": loop,
    "choose": choose,
    "collatz": collatz,
    "map": lambda x: tf.map_fn(lambda row: row * tf.reduce_sum(row), x),
    "scan": lambda x: tf.scan(lambda a, b: a + b, x),
    "fold": lambda x: tf.foldl(lambda a, b: a * 0.5 + b, x),
    "switch": lambda x: tf.switch_case(
        tf.cast(tf.reduce_sum(x) > 0, tf.int32) + 1, [lambda: x, lambda: x * 2, lambda: x * 3]
    ),
    "nested": lambda x: tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, tf.cond(tf.reduce_mean(y) > 0, lambda: y - 1.0, lambda: y + 2.0)),
        [0, x],
    )[1],
    "inner functions": lambda x: tf.function(lambda y: tf.function(lambda z: z * 2.0)(y) + 1.0)(x),
    "arrays": lambda x: tf.TensorArray(tf.float32, 2).write(0, x).write(1, x + 1).stack(),
    "vectorized": lambda x: tf.vectorized_map(lambda row: row * tf.reduce_max(row), x),
    "gradient": lambda x: tf.gradients(tf.reduce_sum(tf.sin(x) * x), x)[0],
    "custom gradient": tf.custom_gradient(lambda x: (tf.tanh(x), lambda dy: dy)),
    "ragged": lambda x: (
        tf.RaggedTensor.from_tensor(x, lengths=[1, 4, 2]).to_tensor(),
        tf.reduce_sum(tf.RaggedTensor.from_tensor(x, lengths=[1, 4, 2]), 1),
    ),
    "sparse": lambda x: (
        tf.sparse.to_dense(tf.sparse.from_dense(x)),
        tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(x), tf.transpose(x)),
        tf.sparse.reduce_sum(tf.sparse.from_dense(x), 1),
    ),
}


def of_function(function, shape, dtype):
    def make(folder):
        @tf.function(input_signature=[tf.TensorSpec([None, *shape[1:]], dtype)])
        def call(x):
            made = function(x)
            made = made if isinstance(made, tuple | list) else [made]
            return {f"y{index}": each for index, each in enumerate(made)}

        module = tf.Module()
        module.call = call
        tf.saved_model.save(module, folder)
        return {"serving_default": {"x": random(shape, dtype)}}

    return make


if not IS_KERAS_2:
    for group, (shape, dtype), prefix in (
        (ELEMENTWISE, X, "op"),
        (IMAGES, IMAGE, "image"),
        (TEXT, ((6,), STR), "string"),
        (CONTROL, X, "control"),
    ):
        for name, function in group.items():
            CASES[f"{prefix} {name}"] = of_function(function, shape, dtype)


@case("module variables")
def _(folder):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(random((4, 3)), name="w")
            self.parts = [tf.Variable(1.0), tf.Variable([2.0, 3.0, 4.0], trainable=False)]
            self.named = {"a": tf.Variable(random((3,), seed=2))}
            self.count = tf.Variable(0, dtype=tf.int64, trainable=False)
            self.table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1
            )

        @tf.function(input_signature=[tf.TensorSpec([None, 4], F32)])
        def __call__(self, x):
            return tf.matmul(x, self.w) * self.parts[0] + self.parts[1] + self.named["a"]

        @tf.function(input_signature=[tf.TensorSpec([None], STR)])
        def lookup(self, words):
            return {"ids": self.table.lookup(words)}

        @tf.function(input_signature=[])
        def step(self):
            return self.count.assign_add(1)

        @tf.function
        def either(self, x, training=False):
            return {"sum": x["a"] + x["b"], "pair": (x["a"], [x["b"]])} if training else x["a"] * 2.0

    model = Model()
    spec = {"a": tf.TensorSpec([None], F32), "b": tf.TensorSpec([None], F32)}
    model.either.get_concrete_function(spec)
    model.either.get_concrete_function(spec, training=True)
    tf.saved_model.save(model, folder, signatures={"serving_default": model.__call__, "lookup": model.lookup})
    words = np.array([b"a", b"z", b"b"], object)
    return {"serving_default": {"x": random((3, 4))}, "lookup": {"words": words}}


@case("module assets")
def _(folder):
    vocabulary = pathlib.Path(folder).parent / "vocabulary.txt"
    vocabulary.write_text("the\nquick\nfox\n")

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.asset = tf.saved_model.Asset(str(vocabulary))
            init = tf.lookup.TextFileInitializer(
                self.asset,
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            )
            self.table = tf.lookup.StaticVocabularyTable(init, 2)
            self.embeddings = tf.Variable(random((5, 3)))

        @tf.function(input_signature=[tf.TensorSpec([None], STR)])
        def __call__(self, x):
            ids = self.table.lookup(tf.strings.split(x).to_tensor("the"))
            return {"ids": ids, "mean": tf.reduce_mean(tf.gather(self.embeddings, ids), 1)}

    tf.saved_model.save(Model(), folder)
    return {"serving_default": {"x": np.array([b"the fox", b"quick", b"a fox the"], object)}}


@case("module images")
def _(folder):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], STR)])
        def __call__(self, images):
            def decode(each):
                made = tf.io.decode_png(each, 3)
                return tf.image.resize(tf.image.convert_image_dtype(made, F32), [6, 6])

            return tf.map_fn(decode, images, fn_output_signature=F32)

    tf.saved_model.save(Model(), folder)
    images = [
        tf.io.encode_png(np.random.default_rng(n).integers(0, 255, (9, 7, 3)).astype(np.uint8)).numpy()
        for n in range(2)
    ]
    return {"serving_default": {"images": np.array(images, object)}}


@case("module examples")
def _(folder):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], STR)])
        def __call__(self, examples):
            parsed = tf.io.parse_example(
                examples,
                {
                    "x": tf.io.FixedLenFeature([2], F32),
                    "s": tf.io.FixedLenFeature([], STR, ""),
                    "v": tf.io.VarLenFeature(I64),
                },
            )
            return {"x": parsed["x"] * 2, "s": parsed["s"], "v": tf.sparse.to_dense(parsed["v"])}

    tf.saved_model.save(Model(), folder)

    def example(*values):
        features = {
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=values)),
            "v": tf.train.Feature(int64_list=tf.train.Int64List(value=[1] * int(values[0]))),
        }
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    return {"serving_default": {"examples": np.array([example(1.0, 2.0), example(3.0, 4.0)], object)}}


# Models of Keras.
L = tf.keras.layers


def sequential(*layers):
    return lambda: tf.keras.Sequential(list(layers))


MODELS = {
    "dense": (lambda: [L.Dense(8, "relu"), L.Dropout(0.5), L.Dense(3, "softmax")], X),
    "normalized": (
        lambda: [L.Dense(8, "gelu"), L.BatchNormalization(), L.LayerNormalization(), L.Dense(1)],
        X,
    ),
    "cnn": (
        lambda: [
            L.Conv2D(4, 3, activation="relu"),
            L.MaxPooling2D(),
            L.DepthwiseConv2D(3, padding="same"),
            L.BatchNormalization(),
            L.Flatten(),
            L.Dense(2),
        ],
        IMAGE,
    ),
    "separable": (
        lambda: [
            L.SeparableConv2D(6, 3),
            L.AveragePooling2D(2),
            L.Conv2DTranspose(3, 3, strides=2),
            L.GlobalAveragePooling2D(),
        ],
        IMAGE,
    ),
    "pooling": (
        lambda: [
            L.ZeroPadding2D(1),
            L.Cropping2D(1),
            L.UpSampling2D(2),
            L.UpSampling2D(2, interpolation="bilinear"),
            L.GlobalMaxPooling2D(),
            L.Reshape((3, 1)),
            L.Permute((2, 1)),
        ],
        IMAGE,
    ),
    "augmenting": (lambda: [L.Rescaling(0.5), L.Resizing(6, 6), L.CenterCrop(4, 4), L.Flatten()], IMAGE),
    "conv1d": (
        lambda: [L.Conv1D(4, 2, padding="causal"), L.MaxPooling1D(2), L.GlobalAveragePooling1D()],
        ((2, 6, 3), F32),
    ),
    "conv3d": (lambda: [L.Conv3D(2, 2), L.GlobalAveragePooling3D()], ((2, 4, 4, 4, 1), F32)),
    "lstm": (lambda: [L.LSTM(5, return_sequences=True), L.LSTM(4)], ((2, 6, 3), F32)),
    "gru": (lambda: [L.GRU(5, return_sequences=True), L.GRU(4, reset_after=False)], ((2, 6, 3), F32)),
    "simple rnn": (
        lambda: [L.SimpleRNN(5, return_sequences=True), L.TimeDistributed(L.Dense(2))],
        ((2, 6, 3), F32),
    ),
    "bidirectional": (
        lambda: [L.Bidirectional(L.LSTM(4, return_sequences=True)), L.Bidirectional(L.GRU(3))],
        ((2, 6, 3), F32),
    ),
    "masked lstm": (
        lambda: [L.Embedding(6, 4, mask_zero=True), L.LSTM(4), L.Dense(1, "sigmoid")],
        ((2, 6), I32),
    ),
    "conv lstm": (lambda: [L.ConvLSTM2D(2, 2)], ((2, 3, 4, 4, 1), F32)),
    "rnn cells": (lambda: [L.RNN([L.LSTMCell(4), L.GRUCell(3)])], ((2, 6, 3), F32)),
    "embedding": (lambda: [L.Embedding(6, 4), L.Flatten(), L.Dense(1, "sigmoid")], ((3, 5), I32)),
    "activations": (lambda: [L.Dense(4), L.PReLU(), L.LeakyReLU(), L.ELU(), L.ReLU(6.0), L.Softmax()], X),
    "noise": (
        lambda: [L.GaussianNoise(1.0), L.GaussianDropout(0.3), L.SpatialDropout1D(0.3)],
        ((2, 6, 3), F32),
    ),
}


MODELS |= {
    "group norm": (
        lambda: [L.Conv2D(4, 1), L.GroupNormalization(2), L.UnitNormalization(), L.Flatten()],
        IMAGE,
    ),
    "dilated": (lambda: [L.Conv2D(4, (3, 1), 2), L.Conv2D(3, 2, dilation_rate=2), L.Flatten()], IMAGE),
    "grouped": (lambda: [L.Conv2D(6, 3, groups=3, activation="selu"), L.GlobalMaxPooling2D()], IMAGE),
    "separable 1d": (lambda: [L.SeparableConv1D(4, 2), L.DepthwiseConv1D(2), L.Flatten()], ((2, 6, 3), F32)),
    "upsampling 1d": (
        lambda: [L.UpSampling1D(2), L.ZeroPadding1D(1), L.Cropping1D(2), L.Conv1DTranspose(3, 2)],
        ((2, 6, 3), F32),
    ),
    "pooling 3d": (
        lambda: [L.MaxPooling3D(2), L.UpSampling3D(2), L.AveragePooling3D(2), L.Conv3DTranspose(2, 2)],
        ((2, 4, 4, 4, 1), F32),
    ),
    "reversed": (
        lambda: [L.LSTM(4, go_backwards=True, return_sequences=True), L.GRU(3, activation="relu")],
        ((2, 6, 3), F32),
    ),
    "repeated": (lambda: [L.Dense(4), L.RepeatVector(3), L.LSTM(2, return_sequences=True)], X),
    "masking": (lambda: [L.Masking(0.0), L.LSTM(3, return_sequences=True), L.GRU(2)], ((2, 6, 3), F32)),
    "activation functions": (
        lambda: [
            L.Activation(each) for each in ("swish", "softsign", "elu", "exponential", "hard_sigmoid", "tanh")
        ],
        X,
    ),
}


def functional(name):
    if name == "transformer":
        inputs = tf.keras.Input((6,), dtype="int32")
        x = L.Embedding(6, 8)(inputs)
        x = L.LayerNormalization()(x + L.MultiHeadAttention(2, 4)(x, x))
        x = L.LayerNormalization()(x + L.Dense(8)(L.Dense(16, "gelu")(x)))
        return tf.keras.Model(inputs, L.Dense(2, "softmax")(L.GlobalAveragePooling1D()(x))), random(
            (2, 6), I32
        )
    if name == "causal transformer":
        inputs = tf.keras.Input((6,), dtype="int32")
        x = L.Embedding(6, 8)(inputs)
        x = x + L.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)
        return tf.keras.Model(inputs, L.Dense(6)(x)), random((2, 6), I32)
    if name == "residual":
        inputs = tf.keras.Input((8, 8, 3))
        x = L.Conv2D(3, 3, padding="same")(inputs)
        x = L.Add()([x, inputs])
        x = L.Concatenate()(
            [x, L.Multiply()([x, inputs]), L.Average()([x, inputs]), L.Maximum()([x, inputs])]
        )
        return tf.keras.Model(inputs, [L.GlobalMaxPooling2D()(x), L.Dense(1)(L.Flatten()(x))]), random(
            IMAGE[0]
        )
    if name == "attention":
        inputs = tf.keras.Input((6, 4))
        x = L.Attention()([inputs, inputs])
        x = L.AdditiveAttention()([x, inputs])
        return tf.keras.Model(inputs, L.Dot(axes=2)([x, inputs])), random((2, 6, 4))
    if name == "several inputs":
        a, b = tf.keras.Input((4,), name="a"), tf.keras.Input((2,), name="b")
        x = L.Concatenate()([L.Dense(3)(a), b])
        return tf.keras.Model({"a": a, "b": b}, {"p": L.Dense(2)(x), "q": L.Dense(1)(x)}), {
            "a": random((3, 4)),
            "b": random((3, 2)),
        }
    if name == "encoded text":
        inputs = tf.keras.Input((), dtype="string")
        vectorize = L.TextVectorization(10, output_sequence_length=4)
        vectorize.adapt([b"the quick fox", b"lazy dog hello world"])
        return tf.keras.Model(
            inputs, L.Dense(2)(L.GlobalAveragePooling1D()(L.Embedding(10, 3)(vectorize(inputs))))
        ), random((4,), STR)
    if name == "counted text":
        inputs = tf.keras.Input((1,), dtype="string")
        vectorize = L.TextVectorization(10, output_mode="tf_idf", ngrams=2)
        vectorize.adapt([[b"the quick fox"], [b"lazy dog hello world"]])
        return tf.keras.Model(inputs, L.Dense(2)(vectorize(inputs))), random((4, 1), STR)
    if name == "structured":
        a, b = tf.keras.Input((1,), dtype="string", name="a"), tf.keras.Input((1,), name="b")
        lookup = L.StringLookup(vocabulary=["12", "Lazy dog"], output_mode="one_hot")
        normalization = L.Normalization()
        normalization.adapt(random((9, 1)))
        bins = L.Discretization([-1.0, 0.0, 1.0], output_mode="one_hot")
        hashed = L.Hashing(5, output_mode="one_hot")
        x = L.Concatenate()([lookup(a), normalization(b), bins(b), hashed(a)])
        return tf.keras.Model({"a": a, "b": b}, L.Dense(1)(x)), {
            "a": random((4, 1), STR),
            "b": random((4, 1)),
        }
    if name == "integers":
        inputs = tf.keras.Input((1,), dtype="int64")
        x = L.IntegerLookup(vocabulary=[1, 3, 4], output_mode="multi_hot")(inputs)
        y = L.CategoryEncoding(6, "one_hot")(inputs)
        return tf.keras.Model(inputs, L.Dense(2)(L.Concatenate()([x, y]))), random((4, 1), I64)
    if name == "decoded":
        inputs = tf.keras.Input((3,))
        ids = (
            L.Lambda(lambda x: tf.argmax(x, -1), output_shape=())(inputs)
            if IS_KERAS_2
            else tf.keras.ops.argmax(inputs, -1)
        )
        return tf.keras.Model(inputs, [ids, L.Softmax()(inputs)]), random((4, 3))
    raise ValueError(name)


FUNCTIONAL = [
    "transformer",
    "causal transformer",
    "residual",
    "attention",
    "several inputs",
    "encoded text",
    "counted text",
    "structured",
    "integers",
    "decoded",
]


def export(model, inputs, folder, compiled=False):
    if IS_KERAS_2:
        if compiled:
            model.compile("adam", "mse", metrics=["mae"])
        model.save(folder, save_format="tf")
    else:
        model.export(folder, verbose=False)
    return (
        {"serving_default": {"": inputs}, "keras": {"": inputs}}
        if IS_KERAS_2
        else {"serving_default": {"": inputs}}
    )


def of_model(name):
    def make(folder):
        layers, (shape, dtype) = MODELS[name]
        model = tf.keras.Sequential([tf.keras.Input(shape[1:], dtype=dtype.name), *layers()])
        return export(model, random(shape, dtype), folder, compiled=name in ("dense", "cnn"))

    return make


def of_functional(name):
    return lambda folder: export(*functional(name), folder)


def of_application(name, size, **kwargs):
    def make(folder):
        tf.keras.utils.set_random_seed(1)
        model = getattr(tf.keras.applications, name)(
            weights=None, input_shape=(size, size, 3), classes=10, **kwargs
        )
        return export(model, random((2, size, size, 3)), folder)

    return make


# So that 2.15's and 2.21's stand beside one another.
KERAS = "keras2" if IS_KERAS_2 else "keras3"
for each in MODELS:
    CASES[f"{KERAS} {each}"] = of_model(each)
for each in FUNCTIONAL:
    CASES[f"{KERAS} {each}"] = of_functional(each)
for each, size, kwargs in (
    ("MobileNet", 32, {"alpha": 0.25}),
    ("MobileNetV2", 32, {"alpha": 0.35}),
    ("MobileNetV3Small", 32, {}),
    ("MobileNetV3Large", 32, {}),
    ("ResNet50", 32, {}),
    ("ResNet50V2", 32, {}),
    ("EfficientNetB0", 32, {}),
    ("EfficientNetV2B0", 32, {}),
    ("DenseNet121", 32, {}),
    ("VGG16", 32, {}),
    ("InceptionV3", 75, {}),
    ("Xception", 71, {}),
    ("NASNetMobile", 32, {}),
    ("ConvNeXtTiny", 32, {}),
):
    CASES[f"{KERAS} {each}"] = of_application(each, size, **kwargs)


@case(f"{KERAS} subclassed")
def _(folder):
    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.dropout = L.Dense(4, "relu"), L.Dense(2), L.Dropout(0.5)

        def call(self, x, training=False):
            x = self.first(x)
            x = self.dropout(x, training=training)
            return {"logits": self.second(x), "mean": tf.reduce_mean(x, 1)}

    model = Model()
    model(random((2, 4)))
    return export(model, random((3, 4)), folder)


# Estimators.
def columns():
    fc = tf.feature_column
    age = fc.numeric_column("age")
    kind = fc.categorical_column_with_vocabulary_list("kind", ["a", "b", "c"], num_oov_buckets=1)
    city = fc.categorical_column_with_hash_bucket("city", 10)
    buckets = fc.bucketized_column(age, [20.0, 40.0])
    crossed = fc.crossed_column([buckets, "kind"], 20)
    number = fc.categorical_column_with_identity("number", 5)
    wide = [kind, city, buckets, crossed, number]
    deep = [
        age,
        fc.indicator_column(kind),
        fc.embedding_column(city, 3),
        fc.embedding_column(crossed, 2),
        fc.indicator_column(number),
    ]
    return wide, deep


def input_fn(labels, count=8):
    def make():
        generator = np.random.default_rng(0)
        features = {
            "age": generator.uniform(10, 60, (count, 1)).astype(np.float32),
            "kind": generator.choice([b"a", b"b", b"z"], (count, 1)),
            "city": generator.choice([b"x", b"yy", b"zzz"], (count, 1)),
            "number": generator.integers(0, 5, (count, 1)),
        }
        return tf.data.Dataset.from_tensors((features, labels(generator, count))).repeat()

    return make


def labels_of(kind):
    """Return a function that draws labels for a kind of estimator."""
    if kind.endswith("Regressor"):
        return lambda generator, count: generator.uniform(0, 1, (count, 1)).astype(np.float32)
    if kind.endswith("3"):
        return lambda generator, count: generator.choice([b"x", b"y", b"z"], (count, 1))
    return lambda generator, count: generator.integers(0, 2, (count, 1))


def of_estimator(kind, raw):
    def make(folder):
        estimators = tf.estimator
        wide, deep = columns()
        labels = labels_of(kind)
        arguments = {
            "Linear": {"feature_columns": wide},
            "DNN": {"feature_columns": deep, "hidden_units": [8, 4], "batch_norm": True},
            "DNNLinearCombined": {
                "linear_feature_columns": wide,
                "dnn_feature_columns": deep,
                "dnn_hidden_units": [8],
            },
            "Baseline": {},
        }[kind.replace("Classifier", "").replace("Regressor", "").replace("3", "")]
        if kind.endswith("3"):
            arguments |= {"n_classes": 3, "label_vocabulary": ["x", "y", "z"]}
        estimator = getattr(estimators, kind.replace("3", ""))(model_dir=str(folder) + "_dir", **arguments)
        estimator.train(input_fn(labels), steps=2)
        if raw:
            with tf.Graph().as_default():
                dtypes = {"age": F32, "kind": STR, "city": STR, "number": I64}
                taken = {name: V1.placeholder(dtype, [None, 1], name) for name, dtype in dtypes.items()}
                receiver = estimators.export.build_raw_serving_input_receiver_fn(taken)
        else:
            receiver = estimators.export.build_parsing_serving_input_receiver_fn(
                tf.feature_column.make_parse_example_spec([*wide, *deep])
            )
        path = estimator.export_saved_model(str(folder) + "_out", receiver)
        os.rename(path, folder)
        if raw:
            features = {
                "age": np.array([[15.0], [33.0], [55.0]], np.float32),
                "kind": np.array([[b"a"], [b"z"], [b"c"]], object),
                "city": np.array([[b"x"], [b"q"], [b"zzz"]], object),
                "number": np.array([[1], [4], [0]]),
            }
            return {"predict": features}
        examples = []
        for age, name, city, number in (
            (15.0, b"a", b"x", 1),
            (33.0, b"z", b"q", 4),
            (55.0, b"c", b"zzz", 0),
        ):
            f = tf.train.Feature
            feature = {
                "age": f(float_list=tf.train.FloatList(value=[age])),
                "kind": f(bytes_list=tf.train.BytesList(value=[name])),
                "city": f(bytes_list=tf.train.BytesList(value=[city])),
                "number": f(int64_list=tf.train.Int64List(value=[number])),
            }
            examples.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
        examples = np.array(examples, object)
        found = {"predict": {"examples": examples}, "serving_default": {"": examples}}
        return found

    return make


if IS_KERAS_2:
    for kind in (
        "LinearClassifier",
        "LinearRegressor",
        "DNNClassifier",
        "DNNRegressor",
        "DNNLinearCombinedClassifier",
        "DNNLinearCombinedRegressor",
        "BaselineClassifier",
        "BaselineRegressor",
        "LinearClassifier3",
        "DNNClassifier3",
        "DNNLinearCombinedClassifier3",
        "BaselineClassifier3",
    ):
        for raw in (False, True):
            CASES[f"estimator {kind} {'raw' if raw else 'parsing'}"] = of_estimator(kind, raw)


# TensorFlow 1's graphs.
def of_graph(build, simple=False):
    def make(folder):
        with V1.Graph().as_default() as graph, V1.Session(graph=graph) as session:
            V1.set_random_seed(1)
            inputs, outputs, feeds = build()
            session.run([V1.global_variables_initializer(), V1.tables_initializer()])
            if simple:
                V1.saved_model.simple_save(session, folder, inputs, outputs)
            else:
                builder = V1.saved_model.Builder(folder)
                signature = V1.saved_model.predict_signature_def(inputs, outputs)
                builder.add_meta_graph_and_variables(
                    session, ["serve"], {"serving_default": signature}, main_op=V1.tables_initializer()
                )
                builder.save()
        return {"serving_default": feeds}

    return make


def graph_dense(use_resource):
    def build():
        x = V1.placeholder(F32, [None, 4], "x")
        with V1.variable_scope(
            "layer", use_resource=use_resource, initializer=V1.glorot_uniform_initializer()
        ):
            w, b = V1.get_variable("w", [4, 3]), V1.get_variable("b", [3])
        y = tf.nn.relu(V1.nn.xw_plus_b(x, w, b))
        return {"x": x}, {"y": y, "p": tf.nn.softmax(y)}, {"x": random((3, 4))}

    return build


def graph_partitioned():
    x = V1.placeholder(I32, [None])
    w = V1.get_variable("w", [6, 4], partitioner=V1.fixed_size_partitioner(3))
    return {"x": x}, {"y": tf.nn.embedding_lookup(w, x)}, {"x": np.array([0, 3, 5], np.int32)}


def graph_control(is_v2):
    def build():
        (V1.enable_control_flow_v2 if is_v2 else V1.disable_control_flow_v2)()
        x = V1.placeholder(F32, [None, 4], "x")
        chosen = V1.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: x - 1.0)
        _, looped = V1.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 0.5 + 1.0), [0, x])
        return {"x": x}, {"chosen": chosen, "looped": looped}, {"x": random((3, 4))}

    return build


def graph_nested():
    V1.disable_control_flow_v2()
    x = V1.placeholder(F32, [None, 4], "x")

    def body(i, y):
        _, z = V1.while_loop(lambda j, _: j < i, lambda j, z: (j + 1, z + 1.0), [0, y])
        return i + 1, V1.cond(tf.reduce_mean(z) > 1.0, lambda: z * 0.5, lambda: z * 2.0)

    _, y = V1.while_loop(lambda i, _: i < 4, body, [0, x])
    return {"x": x}, {"y": y}, {"x": random((3, 4))}


def graph_rnn():
    V1.disable_control_flow_v2()
    x = V1.placeholder(F32, [None, 5, 3], "x")
    cell = V1.nn.rnn_cell.BasicLSTMCell(4) if IS_KERAS_2 else None
    outputs, state = V1.nn.dynamic_rnn(cell, x, dtype=F32)
    return {"x": x}, {"outputs": outputs, "h": state.h}, {"x": random((2, 5, 3))}


def graph_table():
    V1.disable_resource_variables()
    words = V1.placeholder(STR, [None])
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], I64)), -1
    )
    names = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2], I64), ["one", "two"]), "none"
    )
    ids = table.lookup(words)
    V1.enable_resource_variables()
    return (
        {"words": words},
        {"ids": ids, "names": names.lookup(ids)},
        {"words": np.array([b"a", b"c", b"b"], object)},
    )


def graph_cnn():
    x = V1.placeholder(F32, [None, 8, 8, 3], "x")
    w = V1.get_variable("w", [3, 3, 3, 4])
    y = (
        V1.layers.batch_normalization(V1.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"))
        if IS_KERAS_2
        else V1.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
    )
    y = V1.nn.max_pool(tf.nn.relu(y), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    return {"x": x}, {"y": tf.reduce_mean(y, [1, 2])}, {"x": random(IMAGE[0])}


def graph_examples():
    serialized = V1.placeholder(STR, [None], "examples")
    parsed = V1.parse_example(serialized, {"x": V1.FixedLenFeature([2], F32), "w": V1.VarLenFeature(STR)})
    w = V1.get_variable("w", [2, 2])
    y = tf.matmul(parsed["x"], w)
    words = tf.sparse.to_dense(parsed["w"], "")
    feature = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0])),
        "w": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"p", b"q"])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    return {"examples": serialized}, {"y": y, "words": words}, {"examples": np.array([example] * 2, object)}


for name, build, simple in (
    ("dense", graph_dense(True), True),
    ("dense old variables", graph_dense(False), True),
    ("partitioned", graph_partitioned, False),
    ("control 1", graph_control(False), True),
    ("control 2", graph_control(True), True),
    ("nested control", graph_nested, True),
    ("table", graph_table, False),
    ("cnn", graph_cnn, False),
    ("examples", graph_examples, True),
    *((("rnn", graph_rnn, True),) if IS_KERAS_2 else ()),
):
    CASES[f"graph{'' if IS_KERAS_2 else '3'} {name}"] = of_graph(build, simple)


def plain(value):
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)


def answers(folder, feeds):
    """Return TensorFlow's answers, by signature and key."""
    found = {}
    loaded = tf.saved_model.load(str(folder))
    for signature, inputs in feeds.items():
        if signature == "keras":
            model = tf.keras.models.load_model(str(folder))
            inputs = inputs[""]
            outputs = model(inputs)
            for index, each in enumerate(tf.nest.flatten(inputs)):
                found[f"keras/in/{index}"] = np.asarray(each)
            for index, each in enumerate(tf.nest.flatten(outputs)):
                found[f"keras/out/{index}"] = plain(each)
            continue
        if "" in inputs:
            # The inputs' names are the signature's.
            names = list(loaded.signatures[signature].structured_input_signature[1])
            values = inputs[""]
            inputs = values if isinstance(values, dict) else {names[0]: values}
        specs = loaded.signatures[signature].structured_input_signature[1]
        given = {key: tf.constant(value, specs[key].dtype) for key, value in inputs.items()}
        for key, each in loaded.signatures[signature](**given).items():
            found[f"{signature}/out/{key}"] = plain(each)
        for key in inputs:
            found[f"{signature}/in/{key}"] = plain(given[key])
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    for name, make in CASES.items():
        folder = root / name.replace(" ", "_")
        if not pattern.search(name) or (folder / "answers.npz").exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        try:
            tf.keras.backend.clear_session()
            feeds = make(str(folder / "model"))
            found = answers(folder / "model", feeds)
            np.savez(folder / "answers.npz", **found)
            print("made", name, flush=True)
        except Exception as error:
            traceback.print_exc()
            print("failed", name, type(error).__name__, str(error)[:300], flush=True)


if __name__ == "__main__":
    main()
