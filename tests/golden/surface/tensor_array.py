"""Cases of `tf.TensorArray`."""

from tests.golden.surface import Case

EAGER = ("device", "host")

CASES = [
    Case("tf.TensorArray(tf.float32, 3).stack()"),
    Case("tf.TensorArray(tf.float32, 3, element_shape=[2]).stack()"),
    Case("tf.TensorArray(tf.float32, 0).stack()"),
    Case("tf.TensorArray(tf.float32)", EAGER),
    Case("x = f([1.0, 2.0]); tf.TensorArray(tf.float32, 3).write(1, x).stack()"),
    Case("x = f([1.0, 2.0]); t = tf.TensorArray(tf.float32, 3); t.write(1, x); t.stack()", EAGER),
    Case("x = f(1.0); tf.TensorArray(tf.float32, 2).write(2, x)"),
    Case("x = f(1.0); tf.TensorArray(tf.float32, 2).write(-1, x)"),
    Case(
        "x = f(1.0); t = tf.TensorArray(tf.float32, 2, dynamic_size=True).write(4, x); [t.size(), t.stack()]"
    ),
    Case("tf.TensorArray(tf.float32, 2).write(0, 1).stack()"),
    Case("x = i(1); tf.TensorArray(tf.float32, 2).write(0, x)"),
    Case("x = f([1.0, 2.0]); tf.TensorArray(tf.float32, 2).write(0, x[:1]).write(1, x)", EAGER),
    Case(
        "x = f([1.0, 2.0]); tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, x[:1]).write(1, x).concat()"
    ),
    Case("x = f([1.0, 2.0]); tf.TensorArray(tf.float32, 2).write(0, x).write(1, x + 1.0).concat()"),
    Case(
        "x = f([[1.0], [2.0]]); t = tf.TensorArray(tf.float32, 2).unstack(x); [t.read(0), t.read(1), t.size()]"
    ),
    Case(
        "x = f([[1.0], [2.0]]); t = tf.TensorArray(tf.float32, 2).unstack(x); [t.read(0), t.read(0)]", EAGER
    ),
    Case(
        "x = f([1.0]); t = tf.TensorArray(tf.float32, 1, clear_after_read=False).unstack(x); [t.read(0), t.read(0)]"
    ),
    Case("x = f([1.0, 2.0]); tf.TensorArray(tf.float32, 1).unstack(x)"),
    Case("x = f([1.0, 2.0]); tf.TensorArray(tf.float32, 3).unstack(x).stack()", EAGER),
    Case("x = f([1.0, 2.0, 3.0]); tf.TensorArray(tf.float32, 3).unstack(x).gather([2, 0])"),
    Case("x, k = f([1.0, 2.0, 3.0]), i([2, 0]); tf.TensorArray(tf.float32, 3).unstack(x).gather(k)"),
    Case("x = f([1.0, 2.0]); tf.TensorArray(tf.float32, 3).scatter([2, 0], x).stack()"),
    Case("x, k = f([1.0, 2.0]), i([2, 0]); tf.TensorArray(tf.float32, 3).scatter(k, x).stack()"),
    Case("x = f([1.0]); tf.TensorArray(tf.float32, 3).scatter([5], x)"),
    Case(
        "t = tf.TensorArray(tf.float32, 2, infer_shape=False).split(f([1.0, 2.0]), [0, 2]); [t.read(0), t.read(1)]"
    ),
    Case("tf.TensorArray(tf.float32, 3).read(0)"),
    Case("tf.TensorArray(tf.float32, 3, element_shape=[2]).read(0)"),
    Case("tf.TensorArray(tf.float32, 3).read(5)"),
    Case("t = tf.TensorArray(tf.float32, 3, element_shape=[None, 2]); list(t.element_shape)"),
    Case("x = f([1.0]); tf.TensorArray(tf.float32, 3, element_shape=[None, 2]).write(0, x)"),
    Case("x = s(['a', 'b']); tf.TensorArray(tf.string, 2).unstack(x).stack()", ("host",)),
    Case("x, k = f(3.0), i(1); tf.TensorArray(tf.float32, 2).write(k, x).identity().stack()"),
    Case("x, k = f([3.0, 4.0]), i(1); tf.TensorArray(tf.float32, 2).unstack(x).read(k)"),
    Case(
        """x = f([1.0, 2.0])
_, t = tf.while_loop(lambda k, t: k < 3, lambda k, t: (k + 1, t.write(k, x * 2.0)), (0, tf.TensorArray(tf.float32, 3)))
t.stack()"""
    ),
    Case(
        """x = f([1.0, 2.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    t = tf.TensorArray(tf.float32, 3).write(0, x).write(2, x * x)
    y = t.stack() * np.array([[1.0], [2.0], [3.0]], np.float32)
tape.gradient(y, x)""",
        ("device", "function"),
    ),
]
