"""A decoder that a TPU's devices have in parts, compiled, against JAX by hand with a scan and `jax.checkpoint`."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import stratax as sx
from benchmarks import _measure, _peer
from stratax.command.rehearsal import ProgramReport, Topology, check_installed, compile_for, parse_topology
from stratax.core.regions import MadeProgram
from stratax.errors import MissingPackageError

_AXIS = "shard"
_RATE = 1e-3
# A variable of fewer elements stays whole.
_SMALL = 8192
_HALF = jnp.bfloat16


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """How large the decoder and its batches are."""

    layers: int = 12
    width: int = 1024
    hidden: int = 4096
    # Of fewer than 128 features each a TPU would pad them.
    heads: int = 8
    vocabulary: int = 16_000
    batch: int = 32
    length: int = 128


class Block(keras.layers.Layer):
    """Attention to what comes before, and two dense layers, each behind a normalization and beside a shortcut."""

    def __init__(self, width: int, hidden: int, heads: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.norms = [
            keras.layers.LayerNormalization(name=f"norm_{place}") for place in ("before", "between")
        ]
        self.attention = keras.layers.MultiHeadAttention(heads, width // heads, name="attention")
        self.up = keras.layers.Dense(hidden, "gelu", name="up")
        self.down = keras.layers.Dense(width, name="down")

    def build(self, shape: Sequence[int]) -> None:
        """Make the layers' variables."""
        for norm in self.norms:
            norm.build(shape)
        self.attention.build(shape, shape)
        self.up.build(shape)
        self.down.build((*shape[:-1], self.up.units))

    def call(self, inputs: Any) -> Any:
        """Compute the block."""
        normal = self.norms[0](inputs)
        inputs = inputs + self.attention(normal, normal, use_causal_mask=True)
        return inputs + self.down(self.up(self.norms[1](inputs)))


class Tokens(keras.layers.Layer):
    """Vectors of tokens, and of where they stand."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(name="tokens")
        self.length = sizes.length
        self.tokens = keras.layers.Embedding(sizes.vocabulary, sizes.width, name="tokens")
        self.places = keras.layers.Embedding(sizes.length, sizes.width, name="places")

    def build(self, shape: Sequence[int]) -> None:
        """Make the tables."""
        self.tokens.build(shape)
        self.places.build(shape)

    def call(self, inputs: Any) -> Any:
        """Look them up."""
        return self.tokens(inputs) + self.places(keras.ops.arange(self.length))


def make_model(sizes: Sizes) -> keras.Model:
    """Return the decoder, compiled with Adam; its blocks are computed in a loop."""
    inputs = keras.Input((sizes.length,), dtype="int32")
    x = Tokens(sizes)(inputs)
    for index in range(sizes.layers):
        x = Block(sizes.width, sizes.hidden, sizes.heads, name=f"block_{index}")(x)
    x = keras.layers.LayerNormalization(name="norm")(x)
    model = keras.Model(inputs, keras.layers.Dense(sizes.vocabulary, name="head")(x))
    model.compile(keras.optimizers.Adam(_RATE), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return sx.repeat(model) if sizes.layers > 1 else model


def compile_ours(sizes: Sizes, topology: Topology) -> ProgramReport:
    """Compile a step of `fit` under a `ShardedStrategy`, without values."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        with sx.distribute.ShardedStrategy(remat="layer").scope(), sx.tpu.abstract_variables():
            model = make_model(sizes)
    finally:
        keras.config.set_dtype_policy(before)
    batch = jax.ShapeDtypeStruct((sizes.batch, sizes.length), jnp.int32)
    return sx.tpu.compile(model, topology, batch, batch)


def compile_by_hand(sizes: Sizes, topology: Topology) -> ProgramReport:
    """Compile the same step by hand: weights travel in bfloat16, gradients are summed in float32."""

    def trace_for(devices: Sequence[jax.Device], _: int | None) -> MadeProgram:
        mesh = Mesh(np.array(devices), (_AXIS,))
        shapes, specs = _describe(sizes, mesh.size)

        def typed(shape: Sequence[int], spec: PartitionSpec, dtype: Any = jnp.float32) -> Any:
            return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

        weights = {
            group: {name: typed(shape, specs[group][name]) for name, shape in of_group.items()}
            for group, of_group in shapes.items()
        }
        batch = typed((sizes.batch, sizes.length), PartitionSpec(_AXIS), jnp.int32)
        state = weights, weights, weights, typed((), PartitionSpec())
        step = jax.jit(_step(sizes, mesh, specs), donate_argnums=0)
        return MadeProgram(name="by hand", compiled=step, donated=(0,), arguments=(state, batch, batch))

    made = MadeProgram(name="by hand", compiled=None, donated=(), traced_for=trace_for)
    return compile_for(made, topology)


def against_hand_written(topology: str, plan: _measure.Plan) -> _measure.Figure:
    """The larger of the ratios of what a device has: arguments, and temporaries; no time is measured.

    Raises:
        NotInstalledError: If the compiler for TPUs is not installed.
        RuntimeError: If one of them does not compile.
    """
    del plan
    try:
        check_installed()
    except MissingPackageError as error:
        raise _peer.NotInstalledError(
            "not installed: libtpu (pip install 'stratax-train[tpu-compile]')"
        ) from error
    sizes, chosen = Sizes(), parse_topology(topology)
    reports = compile_ours(sizes, chosen), compile_by_hand(sizes, chosen)
    found = []
    for report in reports:
        if report.memory is None:
            raise RuntimeError(f"{report.name} does not compile: {report.failure}")
        memory = report.memory
        arguments = memory.weights + memory.slots + memory.metrics + memory.batch + memory.other
        found.append((arguments, memory.temporaries, report.compile_seconds))
    (ours, our_temporaries, our_seconds), (theirs, their_temporaries, their_seconds) = found
    value = max(ours / theirs, our_temporaries / their_temporaries)
    details = {
        "arguments_ratio": ours / theirs,
        "temporaries_ratio": our_temporaries / their_temporaries,
        "stratax_temporaries_mib": our_temporaries / 2**20,
        "stratax_arguments_mib": ours / 2**20,
        "stratax_compile_s": our_seconds,
        "by_hand_compile_s": their_seconds,
    }
    return _measure.Figure(value=value, low=value, high=value, details=details)


def _describe(sizes: Sizes, count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the shapes of weights, those of blocks stacked, and how they are divided among so many devices."""
    width, hidden = sizes.width, sizes.hidden
    square, vectors = (width, width), ("norm", "shift", "norm_2", "shift_2", "of_q", "of_k", "of_v", "of_out")
    block: dict[str, Any] = dict.fromkeys(("q", "k", "v", "out"), square)
    block |= dict.fromkeys((*vectors, "of_down"), (width,))
    block |= {"up": (width, hidden), "down": (hidden, width), "of_up": (hidden,)}
    top: dict[str, Any] = {"tokens": (sizes.vocabulary, width), "places": (sizes.length, width)}
    top |= {
        "norm": (width,),
        "shift": (width,),
        "head": (width, sizes.vocabulary),
        "of_head": (sizes.vocabulary,),
    }

    def divide(shape: Sequence[int]) -> list[str | None]:
        if np.prod(shape) < _SMALL:
            return []
        dims = [dim for dim, size in enumerate(shape) if size % count == 0]
        chosen = max(dims, key=lambda dim: shape[dim])
        return [_AXIS if dim == chosen else None for dim in range(chosen + 1)]

    shapes = {"block": {name: (sizes.layers, *shape) for name, shape in block.items()}, "top": top}
    specs = {
        "block": {name: PartitionSpec(None, *divide(shape)) for name, shape in block.items()},
        "top": {name: PartitionSpec(*divide(shape)) for name, shape in top.items()},
    }
    return shapes, specs


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _gather(part: jax.Array, dim: int) -> jax.Array:
    return jax.lax.all_gather(part.astype(_HALF), _AXIS, axis=dim, tiled=True)


def _scatter(dim: int, _: None, cotangent: jax.Array) -> tuple[jax.Array]:
    whole = cotangent.astype(jnp.float32)
    return (jax.lax.psum_scatter(whole, _AXIS, scatter_dimension=dim, tiled=True),)


_gather.defvjp(lambda part, dim: (_gather(part, dim), None), _scatter)


def _whole(parts: dict[str, jax.Array], specs: dict[str, PartitionSpec], first: int) -> dict[str, jax.Array]:
    """Gather weights; of stacked ones, each spec has one dimension more."""
    found = {}
    for name, part in parts.items():
        spec = tuple(specs[name])[first:]
        found[name] = _gather(part, spec.index(_AXIS)) if _AXIS in spec else part.astype(_HALF)
    return found


def _normal(x: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
    x = x.astype(jnp.float32)
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return ((x - mean) * jax.lax.rsqrt(variance + 1e-3)).astype(_HALF) * scale + shift


def _block(x: jax.Array, w: dict[str, jax.Array], heads: int) -> jax.Array:
    normal = _normal(x, w["norm"], w["shift"])
    q, k, v = (
        (normal @ w[name] + w[f"of_{name}"]).reshape(*x.shape[:2], heads, x.shape[2] // heads)
        for name in ("q", "k", "v")
    )
    attended = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape)
    x = x + attended @ w["out"] + w["of_out"]
    hidden = jax.nn.gelu(_normal(x, w["norm_2"], w["shift_2"]) @ w["up"] + w["of_up"], approximate=False)
    return x + hidden @ w["down"] + w["of_down"]


def _step(sizes: Sizes, mesh: Mesh, specs: dict[str, Any]) -> Any:
    """Return a step with Adam: state, tokens and labels to state and loss."""

    def loss_of(weights: dict[str, Any], x: jax.Array, y: jax.Array) -> jax.Array:
        top = weights["top"]

        def of_top(*names: str) -> list[jax.Array]:
            return list(_whole({name: top[name] for name in names}, specs["top"], 0).values())

        def turn(hidden: jax.Array, parts: dict[str, jax.Array]) -> tuple[jax.Array, None]:
            return _block(hidden, _whole(parts, specs["block"], 1), sizes.heads), None

        tokens, places = of_top("tokens", "places")
        hidden, _ = jax.lax.scan(jax.checkpoint(turn), tokens[x] + places, weights["block"])
        hidden = _normal(hidden, *of_top("norm", "shift"))
        head, shift = of_top("head", "of_head")
        logits = (hidden @ head + shift).astype(jnp.float32)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1)
        return -jnp.sum(chosen) / (sizes.batch * sizes.length)

    def gradients_of(weights: dict[str, Any], x: jax.Array, y: jax.Array) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
        # What was gathered is summed in parts by the gradient of the gather itself.
        summed = {
            group: {
                name: each if _AXIS in specs[group][name] else jax.lax.psum(each, _AXIS)
                for name, each in of_group.items()
            }
            for group, of_group in gradients.items()
        }
        return jax.lax.psum(loss, _AXIS), summed

    batch = PartitionSpec(_AXIS)
    mapped = jax.shard_map(
        gradients_of,
        mesh=mesh,
        in_specs=(specs, batch, batch),
        out_specs=(PartitionSpec(), specs),
        check_vma=False,
    )

    def step(state: Any, x: jax.Array, y: jax.Array) -> Any:
        weights, means, squares, count = state
        loss, gradients = mapped(weights, x, y)
        count = count + 1
        means = jax.tree.map(lambda m, g: m + (g - m) * 0.1, means, gradients)
        squares = jax.tree.map(lambda v, g: v + (g * g - v) * 0.001, squares, gradients)
        rate = _RATE * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        weights = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-7), weights, means, squares)
        return (weights, means, squares, count), loss

    return step
