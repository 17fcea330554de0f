"""Cases of special functions."""

from tests.golden.surface import Case

_X = "f([-1.5, -0.5, 0.0, 0.3, 0.5, 1.0, 2.5, 10.0])"
_UNIT = "f([0.0, 0.1, 0.5, 0.9, 1.0])"
_POSITIVE = "f([0.1, 0.5, 1.0, 2.5, 10.0])"
_UNARY = ["bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "erf", "erfc", "lgamma"]

CASES = [
    *(Case(f"tf.math.{name}({_X})", tolerance=3e-5) for name in _UNARY),
    Case("tf.math.digamma(f([-1.5, 0.3, 0.5, 1.0, 2.5, 10.0]))", tolerance=3e-5),
    *(
        Case(f"tf.math.special.{name}({_X})", tolerance=1e-4)
        for name in ("dawsn", "fresnel_cos", "fresnel_sin")
    ),
    Case("tf.math.special.bessel_i0(f([0.5, 2.0]))"),
    Case("tf.math.special.expint(f([0.1, 0.5, 1.0, 2.5]))", tolerance=1e-4),
    Case(f"tf.math.special.spence({_POSITIVE})", tolerance=1e-4),
    Case("tf.math.erfinv(f([-1.0, -0.5, 0.0, 0.9, 1.0]))", tolerance=1e-4),
    Case("tf.math.erfcinv(f([0.0, 0.1, 0.5, 1.0, 1.9, 2.0]))", tolerance=1e-4),
    Case(f"tf.math.ndtri({_UNIT})", tolerance=1e-4),
    Case(f"tf.math.polygamma(f(1.0), {_POSITIVE})", tolerance=1e-4),
    Case("tf.math.polygamma(f([2.0, 3.0]), f([0.5, 2.0]))", tolerance=1e-4),
    Case("tf.math.zeta(f([2.0, 3.0, 1.5]), f([1.0, 0.5, 2.0]))", tolerance=1e-4),
    Case("tf.math.betainc(f([1.0, 2.0, 0.5]), f([2.0, 3.0, 0.5]), f([0.3, 0.5, 1.0]))", tolerance=1e-4),
    Case("tf.math.igamma(f([1.0, 2.0, 0.5]), f([0.3, 5.0, 0.0]))", tolerance=1e-4),
    Case("tf.math.igammac(f([1.0, 2.0, 0.5]), f([0.3, 5.0, 0.0]))", tolerance=1e-4),
    Case("tf.math.nextafter(f([1.0, 0.0, -1.0]), f([2.0, -1.0, -1.0]))", tolerance=0),
    Case("tf.math.xlogy(f([0.0, 1.0, 2.0]), f([0.0, 2.0, 0.0]))"),
    Case("tf.math.xlogy(f([[0.0], [2.0]]), f([3.0, 0.0]))"),
    Case("tf.math.xlog1py(f([0.0, 1.0, 2.0]), f([-1.0, 2.0, 1e-6]))"),
    Case("tf.math.xdivy(f([0.0, 1.0, 2.0, 0.0]), f([0.0, 2.0, 0.0, 3.0]))"),
    Case("tf.math.lbeta(f([[1.0, 2.0, 3.0], [0.5, 0.5, 0.5]]))", tolerance=1e-4),
    Case("tf.math.erf(a([0.5, -1.0], 'float16'))", tolerance=1e-2),
    Case("tf.math.erf(f([]))"),
    *(
        Case(
            f"x = f([0.1, 0.5, 0.9])\nwith tf.GradientTape() as tape:\n    tape.watch(x)\n"
            f"    z = tf.math.{name}\ntape.gradient(z, x)",
            modes=("function",),
            tolerance=1e-4,
        )
        for name in (
            *(
                f"{name}(x)"
                for name in (*_UNARY, "digamma", "erfinv", "ndtri", "special.dawsn", "special.spence")
            ),
            *(
                "xlogy(x, 2.0)",
                "xlogy(2.0, x)",
                "xdivy(x, 3.0)",
                "igamma(2.0, x)",
                "igamma(x, 2.0)",
                "zeta(3.0, x)",
            ),
            *("polygamma(1.0, x)", "xlog1py(x, 2.0)"),
        )
    ),
    *(
        Case(
            f"x = f([0.0, 1.0]); y = f([0.0, 2.0])\nwith tf.GradientTape() as tape:\n    tape.watch([x, y])\n"
            f"    z = tf.math.{name}(x, y)\ntape.gradient(z, [x, y])",
            modes=("function",),
        )
        for name in ("xlogy", "xdivy", "xlog1py")
    ),
]
