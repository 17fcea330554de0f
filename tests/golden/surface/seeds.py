"""Random operations with a seed of their own: TensorFlow's numbers, call after call and element by element."""

from tests.golden.surface import Case

_DTYPES = ("float16", "bfloat16", "float32", "float64")


def _calls(call: str, tolerance: float = 1e-6) -> Case:
    """Three calls, one after another."""
    return Case(f"tf.random.set_seed(1)\n[{call} for _ in range(3)]", modes=("host",), tolerance=tolerance)


def _elements(call: str, then: str = "") -> Case:
    """One for each element of a dataset."""
    code = f"list(tf.data.Dataset.range(3).map(lambda x: {call}){then}.as_numpy_iterator())"
    return Case(f"tf.random.set_seed(1)\n{code}", modes=("host",))


CASES = [
    _calls("tf.random.uniform([5], seed=11)", 0),
    _calls("tf.random.uniform([2, 3], -3, 10, seed=11)"),
    _calls("tf.random.uniform([5], -3, 10, tf.int32, seed=11)", 0),
    _calls("tf.random.normal([5], seed=11)"),
    _calls("tf.random.normal([2, 3], 1.0, 2.0, seed=11)"),
    _calls("tf.random.truncated_normal([7], seed=11)"),
    _calls("tf.random.shuffle(tf.range(10), seed=11)", 0),
    _calls("tf.random.shuffle(tf.reshape(tf.range(12), [6, 2]), seed=11)", 0),
    _calls(
        "[tf.random.uniform([], seed=11), tf.random.uniform([2], seed=11), tf.random.uniform([], seed=12)]"
    ),
    Case("tf.random.set_seed(2**40 + 7)\ntf.random.uniform([2], seed=2**35 + 3)", modes=("host",)),
    Case("tf.random.set_seed(7)\ntf.random.uniform([2], seed=-3)", modes=("host",)),
    Case("tf.random.set_seed(0)\ntf.random.uniform([2], seed=0)", modes=("host",)),
    Case("tf.random.set_seed(None)\ntf.random.uniform([2], seed=0)", modes=("host",)),
    *(_elements(f"tf.random.uniform([3], dtype=tf.{dtype}, seed=11)") for dtype in _DTYPES),
    *(_elements(f"tf.random.normal([3], dtype=tf.{dtype}, seed=11)") for dtype in _DTYPES),
    *(_elements(f"tf.random.truncated_normal([5], dtype=tf.{dtype}, seed=11)") for dtype in _DTYPES),
    _elements("tf.random.uniform([5], -3, 10, tf.int64, seed=11)"),
    _elements("tf.random.shuffle(tf.range(10), seed=11)"),
    _elements(
        "(tf.random.uniform([], seed=11), tf.random.uniform([], seed=11), tf.random.normal([], seed=12))"
    ),
    _elements("tf.random.uniform([], seed=11)", ".map(lambda y: (y, tf.random.uniform([2], seed=11)))"),
    _elements(
        "tf.random.uniform([], seed=11)", ".shuffle(3, seed=1).map(lambda y: tf.random.uniform([2], seed=3))"
    ),
    _elements("tf.function(lambda: tf.random.uniform([], seed=11))()"),
]
