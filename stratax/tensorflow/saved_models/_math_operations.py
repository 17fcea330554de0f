"""Operations that compute element by element, reduce, multiply and solve (saved_models layer)."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from stratax.tensorflow.ops.arrays import arrays, segments
from stratax.tensorflow.ops.math import (
    arithmetic,
    bits,
    bitwise,
    elementwise,
    linalg,
    matrices,
    quantization,
    reductions,
    solving,
    special,
    spectra,
)
from stratax.tensorflow.ops.nn import nn
from stratax.tensorflow.ops.signal import fourier
from stratax.tensorflow.saved_models.graph import FileNode
from stratax.tensorflow.saved_models.operations import (
    OperationContext,
    Value,
    as_number,
    as_numbers,
    define,
    library,
    plain,
)

for _names, _function in {
    "Abs": elementwise.abs,
    "Acos": elementwise.acos,
    "Acosh": elementwise.acosh,
    "Add AddV2": elementwise.add,
    "Asin": elementwise.asin,
    "Asinh": elementwise.asinh,
    "Atan": elementwise.atan,
    "Atan2": elementwise.atan2,
    "Atanh": elementwise.atanh,
    "BesselI0": special.bessel_i0,
    "BesselI0e": special.bessel_i0e,
    "BesselI1": special.bessel_i1,
    "BesselI1e": special.bessel_i1e,
    "Betainc": special.betainc,
    "BitwiseAnd": bitwise.bitwise_and,
    "BitwiseOr": bitwise.bitwise_or,
    "BitwiseXor": bitwise.bitwise_xor,
    "Ceil": elementwise.ceil,
    "Complex": arithmetic.complex,
    "ComplexAbs": elementwise.abs,
    "Angle": arithmetic.angle,
    "Conj": arithmetic.conj,
    "Imag": arithmetic.imag,
    "Real": arithmetic.real,
    "Cos": elementwise.cos,
    "Cosh": elementwise.cosh,
    "Digamma": special.digamma,
    "DivNoNan": elementwise.divide_no_nan,
    "Elu": nn.elu,
    "Erf": special.erf,
    "Erfc": special.erfc,
    "Erfinv": special.erfinv,
    "Exp": elementwise.exp,
    "Expm1": elementwise.expm1,
    "Floor": elementwise.floor,
    "FloorDiv": elementwise.floordiv,
    "FloorMod": elementwise.mod,
    "Greater": elementwise.greater,
    "GreaterEqual": elementwise.greater_equal,
    "Igamma": special.igamma,
    "Igammac": special.igammac,
    "Inv Reciprocal": elementwise.reciprocal,
    "Invert": bitwise.invert,
    "IsFinite": elementwise.is_finite,
    "IsInf": elementwise.is_inf,
    "IsNan": elementwise.is_nan,
    "LeftShift": bitwise.left_shift,
    "Less": elementwise.less,
    "LessEqual": elementwise.less_equal,
    "Lgamma": special.lgamma,
    "Log": elementwise.log,
    "Log1p": elementwise.log1p,
    "LogicalAnd": elementwise.logical_and,
    "LogicalNot": elementwise.logical_not,
    "LogicalOr": elementwise.logical_or,
    "Maximum": elementwise.maximum,
    "Minimum": elementwise.minimum,
    "Mul": elementwise.multiply,
    "MulNoNan": arithmetic.multiply_no_nan,
    "Ndtri": special.ndtri,
    "Neg": elementwise.negative,
    "NextAfter": special.nextafter,
    "Polygamma": special.polygamma,
    "Pow": elementwise.pow,
    "Relu": nn.relu,
    "Relu6": nn.relu6,
    "RightShift": bitwise.right_shift,
    "Rint": elementwise.rint,
    "Round": elementwise.round,
    "Rsqrt": elementwise.rsqrt,
    "Selu": nn.selu,
    "Sigmoid": elementwise.sigmoid,
    "Sign": elementwise.sign,
    "Sin": elementwise.sin,
    "Sinh": elementwise.sinh,
    "Softplus": nn.softplus,
    "Softsign": nn.softsign,
    "Sqrt": elementwise.sqrt,
    "Square": elementwise.square,
    "SquaredDifference": elementwise.squared_difference,
    "Sub": elementwise.subtract,
    "Tan": elementwise.tan,
    "Tanh": elementwise.tanh,
    "TruncateDiv": arithmetic.truncatediv,
    "TruncateMod": arithmetic.truncatemod,
    "Xdivy": special.xdivy,
    "Xlog1py": special.xlog1py,
    "Xlogy": special.xlogy,
    "Zeta": special.zeta,
    "MatrixInverse": solving.inv,
    "MatrixDeterminant": solving.det,
    "Cholesky": solving.cholesky,
    "Cross": matrices.cross,
    "MatrixDiag BatchMatrixDiag": matrices.diag,
    "MatrixDiagPart BatchMatrixDiagPart": matrices.diag_part,
    "MatrixSetDiag BatchMatrixSetDiag": matrices.set_diag,
    "MatrixBandPart": matrices.band_part,
    "Diag": matrices.tensor_diag,
    "DiagPart": matrices.tensor_diag_part,
    "SegmentSum": segments.segment_sum,
    "SegmentMean": segments.segment_mean,
    "SegmentMax": segments.segment_max,
    "SegmentMin": segments.segment_min,
    "SegmentProd": segments.segment_prod,
    "ClipByValue": elementwise.clip_by_value,
    "FFT": fourier.fft,
    "IFFT": fourier.ifft,
    "FFT2D": fourier.fft2d,
    "IFFT2D": fourier.ifft2d,
    "LogSoftmax": nn.log_softmax,
    "Softmax": nn.softmax,
    "L2Loss": nn.l2_loss,
}.items():
    plain(_names, _function)
for _names, _function in {
    "UnsortedSegmentSum": segments.unsorted_segment_sum,
    "UnsortedSegmentMax": segments.unsorted_segment_max,
    "UnsortedSegmentMin": segments.unsorted_segment_min,
    "UnsortedSegmentProd": segments.unsorted_segment_prod,
}.items():
    define(
        _names,
        lambda run, node, data, ids, count, function=_function: function(data, ids, as_number(count)),
        static=(2,),
    )


def _divide(run: OperationContext, node: FileNode, x: Value, y: Value) -> Any:
    # `Div` of whole numbers rounds toward zero, `RealDiv` is of fractions only.
    return arithmetic.truncatediv(x, y) if node["T"].kind in "iu" else elementwise.divide(x, y)


define("Div RealDiv", _divide)
define("Equal", lambda run, node, x, y: elementwise.equal(x, y))
define("NotEqual", lambda run, node, x, y: elementwise.not_equal(x, y))
define("LeakyRelu", lambda run, node, x: nn.leaky_relu(x, node.get("alpha", 0.2)))
define("AddN", lambda run, node, *values: values[0] if len(values) == 1 else arithmetic.add_n(list(values)))
define("Cast", lambda run, node, x: arrays.cast(x, node["DstT"]))
define("Bitcast", lambda run, node, x: bits.bitcast(x, node["type"]))
define(
    "ApproximateEqual",
    lambda run, node, x, y: elementwise.less(
        elementwise.abs(elementwise.subtract(x, y)), np.float32(node.get("tolerance", 1e-5))
    ),
)

for _name, _function in {
    "Sum": reductions.reduce_sum,
    "Mean": reductions.reduce_mean,
    "Max": reductions.reduce_max,
    "Min": reductions.reduce_min,
    "Prod": reductions.reduce_prod,
    "All": reductions.reduce_all,
    "Any": reductions.reduce_any,
    "EuclideanNorm": reductions.reduce_euclidean_norm,
}.items():
    define(
        _name,
        lambda run, node, x, axis, function=_function: (
            # No axes at all reduce nothing.
            function(x, tuple(as_numbers(axis)), keepdims=node.get("keep_dims", False))
            if np.size(axis)
            else x
        ),
        static=(1,),
    )
for _name, _function in {
    "Cumsum": reductions.cumsum,
    "Cumprod": reductions.cumprod,
}.items():
    define(
        _name,
        lambda run, node, x, axis, function=_function: function(
            x,
            as_number(axis),
            exclusive=node.get("exclusive", False),
            reverse=node.get("reverse", False),
        ),
        static=(1,),
    )
for _name, _function in {"ArgMax": reductions.argmax, "ArgMin": reductions.argmin}.items():
    define(
        _name,
        lambda run, node, x, axis, function=_function: function(
            x, as_number(axis), node.get("output_type", np.dtype(np.int64))
        ),
        static=(1,),
    )
define(
    "MatMul",
    lambda run, node, a, b: linalg.matmul(
        a, b, transpose_a=node.get("transpose_a", False), transpose_b=node.get("transpose_b", False)
    ),
    heavy=True,
)
define(
    "BatchMatMul BatchMatMulV2 BatchMatMulV3",
    lambda run, node, a, b: linalg.matmul(
        a, b, adjoint_a=node.get("adj_x", False), adjoint_b=node.get("adj_y", False)
    ),
    heavy=True,
)
define(
    "Einsum",
    lambda run, node, *operands: linalg.einsum(node.text("equation"), *map(jnp.asarray, operands)),
    heavy=True,
)
define(
    "MatrixSolve",
    lambda run, node, matrix, rhs: solving.solve(matrix, rhs, adjoint=node.get("adjoint", False)),
)
define(
    "MatrixTriangularSolve",
    lambda run, node, matrix, rhs: solving.triangular_solve(
        matrix, rhs, lower=node.get("lower", True), adjoint=node.get("adjoint", False)
    ),
)


def _of_one(value: Value) -> Any:
    numbers = as_numbers(value)
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


define(
    "MatrixDiagV2 MatrixDiagV3",
    lambda run, node, diagonal, k, rows, columns, padding: matrices.diag(
        diagonal,
        k=_of_one(k),
        num_rows=as_number(rows),
        num_cols=as_number(columns),
        padding_value=padding,
        align=node.text("align", "LEFT_LEFT"),
    ),
    static=(1, 2, 3),
)
define(
    "MatrixDiagPartV2 MatrixDiagPartV3",
    lambda run, node, x, k, padding: matrices.diag_part(
        x, k=_of_one(k), padding_value=padding, align=node.text("align", "LEFT_LEFT")
    ),
    static=(1,),
)
define(
    "MatrixSetDiagV2 MatrixSetDiagV3",
    lambda run, node, x, diagonal, k: matrices.set_diag(
        x, diagonal, k=_of_one(k), align=node.text("align", "LEFT_LEFT")
    ),
    static=(2,),
)
define(
    "SelfAdjointEigV2",
    lambda run, node, x: spectra.eigh(x) if node.get("compute_v", True) else (spectra.eigvalsh(x), x),
    outputs="e v",
)
define("Qr", lambda run, node, x: spectra.qr(x, node.get("full_matrices", False)), outputs="q r")
define(
    "Svd",
    lambda run, node, x: (
        spectra.svd(x, node.get("full_matrices", False))
        if node.get("compute_uv", True)
        else (spectra.svd(x, compute_uv=False), x, x)
    ),
    outputs="s u v",
)
define(
    "RFFT",
    lambda run, node, x, length: fourier.rfft(x, as_numbers(length)),
    static=(1,),
)
define(
    "IRFFT",
    lambda run, node, x, length: fourier.irfft(x, as_numbers(length)),
    static=(1,),
)
define(
    "Bucketize",
    lambda run, node, x: (
        library(x)
        .searchsorted(np.asarray(node.get("boundaries", ()), np.float32), x, side="right")
        .astype(np.int32)
    ),
)
define(
    "FakeQuantWithMinMaxArgs",
    lambda run, node, x: quantization.fake_quant_with_min_max_args(
        x,
        node.get("min", -6.0),
        node.get("max", 6.0),
        node.get("num_bits", 8),
        node.get("narrow_range", False),
    ),
)
define(
    "FakeQuantWithMinMaxVars",
    lambda run, node, x, low, high: quantization.fake_quant_with_min_max_vars(
        x, low, high, node.get("num_bits", 8), node.get("narrow_range", False)
    ),
)
define(
    "FakeQuantWithMinMaxVarsPerChannel",
    lambda run, node, x, low, high: quantization.fake_quant_with_min_max_vars_per_channel(
        x, low, high, node.get("num_bits", 8), node.get("narrow_range", False)
    ),
)


def _bincount(run: OperationContext, node: FileNode, values: Value, size: Value, weights: Value) -> Any:
    count = as_number(size)
    return segments.bincount(
        values,
        weights if np.size(weights) else None,
        minlength=count,
        maxlength=count,
        dtype=node.get("T", np.dtype(np.int32)),
        axis=-1 if np.ndim(values) > 1 else None,
        binary_output=node.get("binary_output", False),
    )


define(
    "HistogramFixedWidth",
    lambda run, node, values, ends, bins: segments.histogram_fixed_width(
        values, ends, as_number(bins), node.get("dtype", np.dtype(np.int32))
    ),
    static=(2,),
)
define("DenseBincount Bincount", _bincount, static=(1,))
