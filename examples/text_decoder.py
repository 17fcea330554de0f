"""A small decoder learns the bytes of texts of one's own, in parts on all devices, and is compiled for a TPU before.

Run it with: python examples/text_decoder.py --data docs --simulate tpu:8
Compile it for 16 chips, or with 7 billion parameters for 512 of them, on any machine:
    python examples/text_decoder.py --layers 12 --width 1024 --heads 8 --compile v5e:4x4
    python examples/text_decoder.py --layers 35 --width 4096 --heads 32 --batch-size 512 --compile v5p:8x8x8
"""

import argparse
import contextlib
import pathlib
import tempfile

import command_line

import stratax as sx

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--data", type=command_line.existing, help="a folder with texts [these examples]")
parser.add_argument("--suffix", help="which files are texts [any]")
parser.add_argument(
    "--simulate", metavar="KIND:COUNT", help="present the CPU as several devices: tpu:8, gpu:4"
)
for name, default, about in (
    ("layers", 4, "blocks of the decoder"),
    ("width", 128, "features of a block"),
    ("heads", 4, "heads of attention"),
    ("length", 64, "bytes of a text that are learned from at once"),
    ("batch-size", 32, "texts in a batch"),
    ("epochs", 2, "how often all texts are seen"),
    ("limit", 200_000, "bytes to learn from at most"),
    ("sample", 80, "bytes to write at the end"),
):
    kind = command_line.positive
    parser.add_argument(f"--{name}", type=kind, default=default, help=f"{about} [%(default)s]")
parser.add_argument("--start", default="The ", help="what the sample begins with [%(default)s]")
parser.add_argument(
    "--compile", metavar="SLICE", help="compile a step for a slice, and stop: v5e:4x4, v5p:8x8x8"
)
parser.add_argument(
    "--save", type=pathlib.Path, help="a folder for the model and its export [a temporary one]"
)
options = parser.parse_args()
command_line.simulate(options.simulate, "sharded")

# Keras last: Stratax chooses its backend.
import keras  # noqa: E402
import numpy as np  # noqa: E402

VOCABULARY = 256


@keras.saving.register_keras_serializable("text_decoder")
class Tokens(keras.layers.Layer):
    """Vectors of bytes, and of where they stand."""

    def __init__(self, length, width, **kwargs):
        super().__init__(**kwargs)
        self.length, self.width = length, width
        self.bytes = keras.layers.Embedding(VOCABULARY, width, name="bytes")
        self.places = keras.layers.Embedding(length, width, name="places")

    def build(self, shape):
        """Make the variables of both."""
        self.bytes.build(shape)
        self.places.build(shape)

    def call(self, inputs):
        """Look them up."""
        return self.bytes(inputs) + self.places(keras.ops.arange(self.length))

    def get_config(self):
        """What Keras makes the layer of again."""
        return {**super().get_config(), "length": self.length, "width": self.width}


@keras.saving.register_keras_serializable("text_decoder")
class Block(keras.layers.Layer):
    """Attention to the bytes before, and two dense layers, each behind a normalization and beside a shortcut."""

    def __init__(self, width, heads, dropout=0.1, **kwargs):
        super().__init__(**kwargs)
        self.width, self.heads, self.rate = width, heads, dropout
        self.norm_attention = keras.layers.LayerNormalization(name="norm_attention")
        self.attention = keras.layers.MultiHeadAttention(heads, width // heads, name="attention")
        self.norm_dense = keras.layers.LayerNormalization(name="norm_dense")
        self.up = keras.layers.Dense(4 * width, "gelu", name="up")
        self.down = keras.layers.Dense(width, name="down")
        self.dropout = keras.layers.Dropout(dropout, name="dropout")

    def build(self, shape):
        """Make the variables of all layers."""
        self.norm_attention.build(shape)
        self.attention.build(shape, shape)
        self.norm_dense.build(shape)
        self.up.build(shape)
        self.down.build((*shape[:-1], 4 * self.width))

    def call(self, inputs):
        """Compute the block."""
        normal = self.norm_attention(inputs)
        inputs = inputs + self.attention(normal, normal, use_causal_mask=True)
        return inputs + self.dropout(self.down(self.up(self.norm_dense(inputs))))

    def get_config(self):
        """What Keras makes the block of again."""
        own = {"width": self.width, "heads": self.heads, "dropout": self.rate}
        return {**super().get_config(), **own}


def build():
    """The decoder, whose blocks are compiled once and run in a loop, however many there are."""
    inputs = keras.Input((options.length,), dtype="int32")
    x = Tokens(options.length, options.width, name="tokens")(inputs)
    for index in range(options.layers):
        x = Block(options.width, options.heads, name=f"block_{index}")(x)
    x = keras.layers.LayerNormalization(name="norm")(x)
    model = keras.Model(inputs, keras.layers.Dense(VOCABULARY, name="head", dtype="float32")(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(1e-3), loss)
    return sx.repeat(model) if options.layers > 1 else model


keras.utils.set_random_seed(0)
keras.config.set_dtype_policy("mixed_bfloat16")
# The line that changes: a MirroredStrategy has the whole model on each device.
strategy = sx.distribute.ShardedStrategy(remat="layer")
# To be compiled, a model needs no values, for which there may be no room here.
without_values = sx.tpu.abstract_variables() if options.compile else contextlib.nullcontext()
with strategy.scope(), without_values:
    model = build()
strategy.layout_table(model.get_layer("block_0").up)
print(f"{model.count_params():,} parameters on {len(strategy.mesh.devices.flat)} devices")

if options.compile:
    batch = np.broadcast_to(np.int32(0), (options.batch_size, options.length))
    print(sx.tpu.compile(model, options.compile, batch, batch))
    raise SystemExit

folder = options.data or pathlib.Path(__file__).parent
files = sorted(path for path in folder.rglob(f"*{options.suffix or ''}") if path.is_file())
text = b"\n".join(path.read_bytes() for path in files)[: options.limit]
count = (len(text) - 1) // options.length
if count < 1:
    parser.error(f"there are {len(text)} bytes in {str(folder)!r}, and a text has {options.length}")
tokens = np.frombuffer(text, np.uint8).astype(np.int32)
x = tokens[: count * options.length].reshape(count, -1)
y = tokens[1 : count * options.length + 1].reshape(count, -1)
print(f"{count} texts of {options.length} bytes from {len(files)} files")
model.fit(x, y, batch_size=options.batch_size, epochs=options.epochs, verbose=2)

with tempfile.TemporaryDirectory() as temporary:
    saved = options.save or pathlib.Path(temporary)
    saved.mkdir(parents=True, exist_ok=True)
    model.save(saved / "decoder.keras")
    # The same file, on a single device.
    loaded = keras.models.load_model(saved / "decoder.keras")
    difference = np.abs(loaded.predict(x[:8], verbose=0) - model.predict(x[:8], verbose=0)).max()
    print("largest difference of what is loaded on one device:", float(difference))

    sx.export.save(model, saved / "export", platforms=["cpu", "tpu"])
    exported = sx.export.load(saved / "export").signatures["serving_default"]

    random = np.random.default_rng(0)
    written = options.start.encode()
    for _ in range(options.sample):
        window = written[-options.length :]
        padded = np.frombuffer(window.ljust(options.length, b" "), np.uint8).astype(np.int32)[None]
        (logits,) = exported(padded).values()
        odds = np.exp(np.asarray(logits[0, len(window) - 1], np.float64) / 0.8)
        written += bytes([random.choice(VOCABULARY, p=odds / odds.sum())])
    print("sample:", written.decode(errors="replace"))
