"""Cases of conditions, loops and functions of rows."""

from tests.golden.surface import Case

CASES = [
    Case("tf.cond(f(2.0) > 1.0, lambda: tf.constant(1), lambda: tf.constant(2))"),
    Case("x = f(-2.0); tf.cond(x > 1.0, lambda: x * 2.0, lambda: {'a': x}['a'])"),
    Case("x = f([1.0, 2.0]); tf.cond(i(1), lambda: (x, [x + 1.0]), lambda: (x * 3.0, [x]))"),
    Case("tf.cond(b([True, False]), lambda: tf.constant(1), lambda: tf.constant(2))", ("device", "host")),
    Case("tf.cond(b(True), 1, lambda: tf.constant(2))"),
    Case("tf.cond(b(True), lambda: tf.constant(2))"),
    Case(
        """x = f(3.0)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.cond(x > 2.0, lambda: x * x, lambda: x)
tape.gradient(y, x)""",
        ("device", "function"),
    ),
    *(
        Case(
            f"""x, one = i({x}), tf.constant
tf.case([(x < 1, lambda: one(1.0)), (x < 3, lambda: one(2.0))], default=lambda: one(3.0))"""
        )
        for x in (2, 7)
    ),
    Case(
        "tf.case([(b(False), lambda: tf.constant(1.0)), (b(True), lambda: tf.constant(2.0))], exclusive=True)"
    ),
    Case("tf.case([(b(False), lambda: tf.constant(1.0))])", ("device", "host")),
    Case("tf.case([])"),
    Case("tf.case([1])"),
    Case("tf.switch_case(i(1), [lambda: tf.constant(1), lambda: tf.constant(2)])"),
    Case("tf.switch_case(i(-1), [lambda: tf.constant(1), lambda: tf.constant(2)])"),
    Case(
        "tf.switch_case(i(5), {1: lambda: tf.constant(1), 0: lambda: tf.constant(2)}, default=lambda: tf.constant(3))"
    ),
    Case("tf.switch_case(i(0), [(1, lambda: tf.constant(1)), (0, lambda: tf.constant(2))])"),
    Case("tf.switch_case(i(0), {3: lambda: tf.constant(1)})"),
    Case("tf.switch_case(f(0.0), [lambda: tf.constant(1)])"),
    Case("tf.switch_case(i(0), [])"),
    Case("tf.while_loop(lambda k, x: k < 3, lambda k, x: (k + 1, x * 2.0), (i(0), f([1.0, 2.0])))"),
    Case("tf.while_loop(lambda k, x: k < 3, lambda k, x: [k + 1, x * 2.0], [i(5), f(1.0)])"),
    Case("tf.while_loop(lambda k: k < 3, lambda k: [k + 1], [i(0)])"),
    Case(
        "tf.while_loop(lambda k, p: k < 3, lambda k, p: [k + 1, {'a': p['a'] + 1.0}], [i(0), {'a': f([1.0])}])"
    ),
    Case("tf.while_loop(lambda k: k < 10, lambda k: [k + 1], [i(0)], maximum_iterations=4)"),
    Case("tf.while_loop(lambda k: k < 10, lambda k: [k + 1], [i(0)], maximum_iterations=i(4))"),
    Case("tf.while_loop(lambda k: k < 10, lambda k: [k + 1], [i(0)], maximum_iterations=0)"),
    Case("tf.while_loop(lambda k: k < 10, lambda k: [k + 1], i(0))", ("device", "host")),
    Case("tf.while_loop(lambda k, x: k < 10, lambda k, x: [k + 1], [i(0), i(0)])"),
    Case("tf.while_loop(1, lambda k: [k + 1], [i(0)])"),
    Case(
        """x = f(3.0)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.while_loop(lambda k, y: k < 3, lambda k, y: [k + 1, y * x], [0, x], maximum_iterations=5)[1]
tape.gradient(y, x)""",
        ("device", "function"),
    ),
    Case("tf.map_fn(lambda x: x * 2.0, f([[1.0, 2.0], [3.0, 4.0]]))"),
    Case("tf.map_fn(tf.reduce_sum, f([[1.0, 2.0], [3.0, 4.0]]))"),
    Case("tf.map_fn(lambda x: x > 0.0, f([1.0, -1.0]), dtype=tf.bool)"),
    Case("tf.map_fn(lambda x: x > 0.0, f([1.0, -1.0]))"),
    Case("tf.map_fn(lambda x: (x, -x), f([1.0, -1.0]), dtype=(tf.float32, tf.float32))"),
    Case("tf.map_fn(lambda x: (x, -x), f([1.0, -1.0]))"),
    Case("tf.map_fn(lambda x: x[0] * x[1], (f([1.0, -1.0]), f([2.0, 3.0])), fn_output_signature=tf.float32)"),
    Case(
        "tf.map_fn(lambda x: {'a': x}, f([1.0, -1.0]), fn_output_signature={'a': tf.TensorSpec([], tf.float32)})"
    ),
    Case("tf.map_fn(lambda x: x['a'], {'a': i([1, 2]), 'b': i([3, 4])}, dtype=tf.int32)"),
    Case("tf.map_fn(lambda x: 1, f([1.0, -1.0]))"),
    Case("tf.map_fn(lambda x: x, f(1.0))"),
    Case("tf.map_fn(lambda x: x, [1, 2, 3])"),
    Case("tf.map_fn(lambda x: x[0], (f([1.0]), f([1.0, 2.0])), dtype=tf.float32)"),
    Case("tf.map_fn(tf.reduce_sum, f(np.zeros((0, 3))), fn_output_signature=tf.TensorSpec([], tf.float32))"),
    Case("tf.map_fn(lambda x: x, s(['a', 'b']))", ("host",)),
    Case(
        """x = f([1.0, 2.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.map_fn(lambda v: v * v, x)
tape.gradient(y, x)""",
        ("device", "function"),
    ),
    Case("tf.vectorized_map(lambda x: x * 2.0, f([1.0, 2.0]))"),
    Case("tf.vectorized_map(lambda x: (x * 2.0, [tf.reduce_sum(x)]), f([[1.0, 2.0]]))"),
    Case("tf.vectorized_map(lambda x: x[0] * x[1], (f([1.0, 2.0]), f([[3.0]])))"),
    Case("tf.vectorized_map(lambda x: x, f(np.zeros((0, 2))))"),
    Case("tf.vectorized_map(lambda x: 3, f([1.0, 2.0]))"),
    Case(
        "tf.vectorized_map(lambda x: tf.cond(x > 1.0, lambda: x, lambda: -x), f([1.0, 2.0]))",
        ("device", "function"),
    ),
    Case("tf.scan(lambda a, x: a + x, i([1, 2, 3]))"),
    Case("tf.scan(lambda a, x: a + x, i([1, 2, 3]), initializer=10)"),
    Case("tf.scan(lambda a, x: a - x, i([1, 2, 3]), reverse=True)"),
    Case("tf.scan(lambda a, x: a - x, i([1, 2, 3]), initializer=10, reverse=True)"),
    Case("tf.scan(lambda a, x: (a[0] + x, a[1] * x), f([1.0, 2.0, 3.0]), initializer=(0.0, 1.0))"),
    Case(
        "tf.scan(lambda a, x: a + x[0] * x[1], (f([[1.0], [2.0]]), f([[3.0], [4.0]])), initializer=f([0.5]))"
    ),
    Case("tf.scan(lambda a, x: a + x, f([]), initializer=0.0)"),
    Case("tf.scan(lambda a, x: a + x, f([]))"),
    Case("tf.scan(lambda a, x: a + x, f(1.0))"),
    Case("tf.foldl(lambda a, x: a - x, i([1, 2, 3]))"),
    Case("tf.foldl(lambda a, x: a - x, i([1, 2, 3]), initializer=10)"),
    Case("tf.foldl(lambda a, x: a + x[0] * x[1], (i([1, 2]), i([3, 4])), initializer=10)"),
    Case("tf.foldl(lambda a, x: a + x, f([]), initializer=1.0)"),
    Case("tf.foldl(lambda a, x: a + x, f([]))"),
    Case("tf.foldr(lambda a, x: a - x, i([1, 2, 3]))"),
    Case("tf.foldr(lambda a, x: a - x, i([1, 2, 3]), initializer=10)"),
    Case("tf.numpy_function(lambda x: x + 1, [f([1.0, 2.0])], tf.float32)", ("device", "host")),
    Case(
        "tf.numpy_function(lambda x: (x + 1, x), [f([1.0, 2.0])], [tf.float32, tf.float32])",
        ("device", "host"),
    ),
    Case(
        "tf.numpy_function(lambda x: x.astype(np.int32), [f([1.0, 2.0])], [tf.float32])", ("device", "host")
    ),
    Case("tf.numpy_function(lambda x: None, [f([1.0, 2.0])], [])", ("device", "host")),
    Case("tf.numpy_function(lambda x: x + x, [s('ab')], tf.string)", ("host",)),
    Case("tf.numpy_function(1, [], tf.float32)"),
    Case(
        "tf.numpy_function(lambda x, y: x * y, [f([1.0, 2.0]), 3.0], tf.TensorSpec([2], tf.float32))",
        ("function",),
    ),
    Case("tf.py_function(lambda x: x + 1.0, [f([1.0, 2.0])], tf.float32)", ("device", "host")),
    Case("tf.py_function(lambda x: x + 1.0, [f([1.0, 2.0])], [tf.float32])", ("device", "host")),
    Case(
        "tf.py_function(lambda x: (x + 1.0, x), [f([1.0, 2.0])], (tf.float32, tf.float32))",
        ("device", "host"),
    ),
    Case("tf.py_function(lambda x: (x + 1.0, x), [f([1.0, 2.0])], (tf.float32, tf.int32))", ("device",)),
    Case("tf.py_function(lambda x: 3, [f([1.0, 2.0])], tf.float32)", ("device", "host")),
    Case("tf.py_function(lambda x: None, [f([1.0, 2.0])], [])", ("device", "host")),
    Case("tf.py_function(lambda: 1.0, [], tf.float32)", ("device", "host")),
    Case("tf.py_function(1, [], tf.float32)"),
    Case("tf.py_function(lambda x: x * 2.0, [f([1.0, 2.0])], tf.TensorSpec([2], tf.float32))"),
    Case(
        """x = f(3.0)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.py_function(lambda x: x * x, [x], tf.float32)
tape.gradient(y, x)""",
        ("device",),
    ),
    Case(
        """x = f([3.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = x * tf.numpy_function(lambda x: x * x, [x], tf.TensorSpec([1], tf.float32))
tape.gradient(y, x)""",
        ("device", "function"),
    ),
    *(
        Case(
            f"""x = f([1.0, -2.0])
{function}
with tf.GradientTape() as tape:
    tape.watch(x)
    y = own(x) * 3.0
[y, tape.gradient(y, x)]""",
            ("device", "function"),
        )
        for function in (
            "own = tf.custom_gradient(lambda x: (x * x, lambda upstream: upstream * x * 10.0))",
            "own = tf.custom_gradient(lambda x: (x * x, lambda upstream: None))",
            "h = tf.custom_gradient(lambda x, y: ((x, y), lambda a, b: (a, b * 5.0))); own = lambda x: sum(h(x, x))",
            "own = tf.recompute_grad(lambda x: tf.sin(x))",
            "own = tf.grad_pass_through(lambda x: tf.round(x * 4.0))",
        )
    ),
    Case(
        """x = f([1.0, -2.0])
own = tf.custom_gradient(lambda x: (x, lambda upstream: [upstream, upstream]))
with tf.GradientTape() as tape:
    tape.watch(x)
    y = own(x)
tape.gradient(y, x)""",
        ("device",),
    ),
    Case("tf.custom_gradient(lambda x: x)(f(1.0))", ("device",)),
]
