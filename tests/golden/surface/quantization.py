"""Cases of functions that round floats as quantised kernels would."""

from tests.golden.surface import Case

_X = "f([-7.0, -1.3, -0.01, 0.0, 0.4, 2.5, 6.2])"

CASES = [
    Case(f"tf.quantization.fake_quant_with_min_max_args({_X})"),
    Case(f"tf.quantization.fake_quant_with_min_max_args({_X}, min=-1, max=3, num_bits=4, narrow_range=True)"),
    Case(f"tf.quantization.fake_quant_with_min_max_args({_X}, min=0.5, max=3.0)"),
    Case(f"tf.quantization.fake_quant_with_min_max_args({_X}, 1.0, 1.0)", modes=("device", "host")),
    Case(f"tf.quantization.fake_quant_with_min_max_args({_X}, num_bits=17)", modes=("device", "host")),
    Case(f"tf.quantization.fake_quant_with_min_max_vars({_X}, f(-1.1), f(2.7))"),
    Case(f"tf.quantization.fake_quant_with_min_max_vars({_X}, -1.1, 2.7, num_bits=3)"),
    Case("tf.quantization.fake_quant_with_min_max_vars_per_channel(f([[1.23, -5], [7, 0.3]]), f([-1, -2]), f([1, 3]))"),
    Case("tf.quantization.fake_quant_with_min_max_vars_per_channel(f([[1, 2]]), f([0]), f([1]))",
         modes=("device", "host")),
    Case(f"""x = {_X}; low = f(-1.1); high = f(2.7)
with tf.GradientTape() as tape:
    tape.watch([x, low, high])
    y = tf.quantization.fake_quant_with_min_max_vars(x, low, high) * f([1, 2, 3, 4, 5, 6, 7])
tape.gradient(y, [x, low, high])""", modes=("function",)),
]  # fmt: skip
