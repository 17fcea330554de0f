"""Operations of training: derivatives of layers, and what optimizers do to variables (saved_models layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.tensorflow.saved_models.graph import FileNode
from stratax.tensorflow.saved_models.operations import (
    OperationContext,
    Value,
    as_numbers,
    define,
    library,
    plain,
    table,
)
from stratax.tensorflow.v1.parts import rules

# Derivatives element by element. Those of the first kind take the gradient and what went in, those of the second what
# came out and the gradient.
plain("ReluGrad", lambda gradient, x: gradient * (x > 0).astype(gradient.dtype))
plain("Relu6Grad", lambda gradient, x: gradient * ((x > 0) & (x < 6)).astype(gradient.dtype))
plain("EluGrad", lambda gradient, y: library(gradient).where(y < 0, gradient * (y + 1), gradient))
define(
    "LeakyReluGrad",
    lambda run, node, gradient, x: library(gradient).where(
        x > 0, gradient, gradient * np.asarray(node.get("alpha", 0.2), gradient.dtype)
    ),
)
plain("SoftplusGrad", lambda gradient, x: gradient * jax.nn.sigmoid(x))
plain("SoftsignGrad", lambda gradient, x: gradient / (1 + abs(x)) ** 2)
plain("SigmoidGrad", lambda y, gradient: gradient * y * (1 - y))
plain("TanhGrad", lambda y, gradient: gradient * (1 - y * y))
plain("SqrtGrad", lambda y, gradient: gradient * np.asarray(0.5, gradient.dtype) / y)
plain("RsqrtGrad", lambda y, gradient: gradient * np.asarray(-0.5, gradient.dtype) * y * y * y)
plain("InvGrad ReciprocalGrad", lambda y, gradient: -gradient * y * y)


def _bias_back(run: OperationContext, node: FileNode, gradient: Value) -> Any:
    axis = 1 if node.text("data_format") == "NCHW" else gradient.ndim - 1
    return library(gradient).sum(gradient, axis=tuple(each for each in range(gradient.ndim) if each != axis))


define("BiasAddGrad", _bias_back)


def _broadcast_axes(one: Value, other: Value) -> tuple[np.ndarray, np.ndarray]:
    """Return the axes along which each of two shapes is repeated to fit the other."""
    shapes = as_numbers(one), as_numbers(other)
    rank = max(map(len, shapes))
    first, second = ([1] * (rank - len(each)) + each for each in shapes)
    pairs = list(zip(first, second, strict=True))
    missing = [rank - len(each) for each in shapes]
    found = [
        [
            axis
            for axis, pair in enumerate(pairs)
            if axis < missing[side] or (pair[side] == 1 and pair != (1, 1))
        ]
        for side in (0, 1)
    ]
    return np.array(found[0], np.int32), np.array(found[1], np.int32)


plain("BroadcastGradientArgs", _broadcast_axes, outputs="r0 r1", static=(0, 1))


def _derivative(
    name: str, run: OperationContext, node: FileNode, operands: Sequence[Any], gradient: Value
) -> Any:
    """Return the derivatives of an operation of the table with the same attributes."""
    call: Callable[..., Any] = table()[name].call

    def first(*values: Value) -> Any:
        made = call(run, node, *values)
        return made[0] if isinstance(made, tuple) else made

    return jax.vjp(first, *map(jnp.asarray, operands))[1](jnp.asarray(gradient))


define(
    "MaxPoolGrad MaxPoolGradV2",
    lambda run, node, x, y, gradient, *sizes: _derivative("MaxPool", run, node, [x], gradient)[0],
    heavy=True,
)
define(
    "AvgPoolGrad",
    lambda run, node, shape, gradient: _derivative(
        "AvgPool", run, node, [jnp.zeros(as_numbers(shape), gradient.dtype)], gradient
    )[0],
    heavy=True,
    static=(0,),
)
define(
    "Conv2DBackpropFilter",
    lambda run, node, x, shape, gradient: _derivative(
        "Conv2D", run, node, [x, jnp.zeros(as_numbers(shape), x.dtype)], gradient
    )[1],
    heavy=True,
    static=(1,),
)
define(
    "DepthwiseConv2dNativeBackpropFilter",
    lambda run, node, x, shape, gradient: _derivative(
        "DepthwiseConv2dNative", run, node, [x, jnp.zeros(as_numbers(shape), x.dtype)], gradient
    )[1],
    heavy=True,
    static=(1,),
)
define(
    "DepthwiseConv2dNativeBackpropInput",
    lambda run, node, shape, kernel, gradient: _derivative(
        "DepthwiseConv2dNative", run, node, [jnp.zeros(as_numbers(shape), kernel.dtype), kernel], gradient
    )[0],
    heavy=True,
    static=(0,),
)


def _slice_back(
    run: OperationContext,
    node: FileNode,
    shape: Value,
    begin: Value,
    end: Value,
    strides: Value,
    gradient: Value,
) -> Any:
    def cut(value: Value) -> Any:
        return table()["StridedSlice"].call(run, node, value, begin, end, strides)

    return jax.vjp(cut, jnp.zeros(as_numbers(shape), gradient.dtype))[1](gradient)[0]


define("StridedSliceGrad", _slice_back, static=(0, 1, 2, 3))


def _normalization_back(
    run: OperationContext,
    node: FileNode,
    gradient: Value,
    x: Value,
    scale: Value,
    mean: Value,
    second: Value,
    *others: Value,
) -> Any:
    """Return the derivatives by the input, the scale and the offset; statistics are the batch's while training."""
    del others
    epsilon = node.get("epsilon", 1e-4)
    axis = 1 if node.text("data_format") == "NCHW" else x.ndim - 1
    axes = tuple(each for each in range(x.ndim) if each != axis)
    shape = [x.shape[axis] if each == axis else 1 for each in range(x.ndim)]
    trains = node.get("is_training", True)

    def normalize(x: Value, scale: Value, offset: Value) -> Any:
        center = jnp.mean(x, axes, keepdims=True) if trains else jnp.reshape(mean, shape)
        spread = jnp.var(x, axes, keepdims=True) if trains else jnp.reshape(second, shape)
        scaled = (x - center) * jax.lax.rsqrt(spread + epsilon) * jnp.reshape(scale, shape)
        return scaled + jnp.reshape(offset, shape)

    found = jax.vjp(normalize, x, scale, jnp.zeros_like(scale))[1](gradient)
    return (*found, jnp.zeros(0, scale.dtype), jnp.zeros(0, scale.dtype))


define(
    "FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3",
    _normalization_back,
    outputs="x_backprop scale_backprop offset_backprop reserve_space_4 reserve_space_5",
    heavy=True,
)


# What optimizers do: handles of the variable and its slots come first, then numbers, and the gradient among them.


def _apply(
    rule: Callable[..., Any], slots: str, numbers: str, *, gradient: int = -1, named: str = ""
) -> Callable[..., Any]:
    """Return an operation that changes a variable and its slots by a rule of TensorFlow 1's optimizers.

    Args:
        rule: The rule.
        slots: The slots' names, as they come behind the variable.
        numbers: The numbers' names, as they come behind the slots, without the gradient.
        gradient: Where among these the gradient comes.
        named: Numbers with other values than 0 that the operation does not take, as `name=value`.
    """
    slot_names, number_names = slots.split(), numbers.split()
    others = {name: float(value) for name, _, value in (each.partition("=") for each in named.split())}

    def call(run: OperationContext, node: FileNode, handle: Value, *operands: Value) -> Any:
        handles, rest = operands[: len(slot_names)], list(operands[len(slot_names) :])
        slope = rest.pop(gradient)
        value, own = run.read(handle), [run.read(each) for each in handles]
        found = dict(zip(number_names, rest, strict=False)) | others
        used = rule
        if rule is rules.momentum and node.get("use_nesterov"):
            used = rules.nesterov_momentum
        made, changed = used(value, dict(zip(slot_names, own, strict=True)), slope, found)
        for name, each in zip(slot_names, handles, strict=True):
            run.assign(each, changed[name])
        run.assign(handle, made)
        return () if node.op.startswith("Resource") else handle

    return call


for _name, _call in {
    "GradientDescent": _apply(rules.gradient_descent, "", "learning_rate"),
    "Momentum": _apply(rules.momentum, "momentum", "learning_rate momentum", gradient=1),
    "Adam": _apply(rules.adam, "m v", "beta1_power beta2_power learning_rate beta1 beta2 epsilon"),
    "Adagrad": _apply(rules.adagrad, "accumulator", "learning_rate"),
    "Adadelta": _apply(rules.adadelta, "accum accum_update", "learning_rate rho epsilon"),
    "RMSProp": _apply(rules.rms_prop, "rms momentum", "learning_rate decay momentum epsilon"),
    "CenteredRMSProp": _apply(
        rules.rms_prop_centered, "mg rms momentum", "learning_rate decay momentum epsilon"
    ),
    "Ftrl": _apply(
        rules.ftrl,
        "accum linear",
        "learning_rate l1_regularization_strength l2_regularization_strength learning_rate_power",
        gradient=0,
        named="beta=0 l2_shrinkage_regularization_strength=0",
    ),
}.items():
    define(f"Apply{_name} ResourceApply{_name}", _call, stateful=True)


def _scatter(change: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    def call(run: OperationContext, node: FileNode, handle: Value, indices: Value, updates: Value) -> Any:
        run.assign(handle, change(jnp.asarray(run.read(handle)), indices, updates))
        return () if node.op.startswith("Resource") else handle

    return call


for _name, _change in {
    "Add": lambda value, indices, updates: value.at[indices].add(updates),
    "Sub": lambda value, indices, updates: value.at[indices].add(-updates),
    "Update": lambda value, indices, updates: value.at[indices].set(updates),
}.items():
    define(f"Scatter{_name} ResourceScatter{_name}", _scatter(_change), stateful=True)
