"""Cases of `tf.nn` for sequences without alignment and for many classes."""
# ruff: noqa: E501

from collections.abc import Callable

from tests.golden.surface import Case

_L = "x = a(np.sin(np.arange(5 * 2 * 4) ** 2).reshape(5, 2, 4) * 2, 'float32')"
_S = "l = tf.SparseTensor(np.array([[0, 0], [0, 1], [1, 0]], 'int64'), np.array([1, 2, 0], 'int32'), np.array([2, 2], 'int64'))"
_W = "w = a(np.sin(np.arange(18)).reshape(6, 3), 'float32'); b = f([0.1, 0.2, 0.0, -0.1, 0.3, 0.0]); x = a(np.cos(np.arange(6)).reshape(2, 3), 'float32'); y = a([[1], [4]], 'int64'); s = (tf.constant([0, 1, 3], tf.int64), tf.constant([[0.5], [0.2]]), tf.constant([0.7, 0.5, 0.3]))"
_ON_DEVICE = ("device", "function")
_EAGER = ("host",)


def _with(*before: str) -> Callable[..., Case]:
    return lambda code, modes=_ON_DEVICE: Case("; ".join([*before, code]), modes, 1e-4)


_l, _w = _with(_L), _with(_W)

CASES = [
    _l("tf.nn.ctc_loss(i([[1, 2], [3, 0]]), x, i([2, 1]), i([5, 4]))"),
    _l("tf.nn.ctc_loss(i([[1, 1], [2, 1]]), tf.transpose(x, [1, 0, 2]), i([2, 2]), i([5, 5]), logits_time_major=False, blank_index=-1)"),
    _with(_L, _S)("tf.nn.ctc_loss(l, x, None, i([5, 4]), blank_index=-1)"),
    _with(_L, _S)("tf.nn.ctc_loss(l, x, None, i([5, 4]))"),
    Case(f"{_L}\nwith tf.GradientTape() as tape:\n  tape.watch(x)\n  y = tf.reduce_sum(tf.nn.ctc_loss(i([[1, 2], [3, 0]]), x, i([2, 1]), i([5, 4])))\ntape.gradient(y, x)", _ON_DEVICE, 1e-4),
    _l("tf.nn.ctc_greedy_decoder(x, i([5, 3]))", _EAGER),
    _l("tf.nn.ctc_greedy_decoder(x, i([5, 5]), merge_repeated=False, blank_index=0)", _EAGER),
    _l("tf.nn.ctc_beam_search_decoder(x, i([5, 4]), beam_width=1000, top_paths=2)", _EAGER),
    Case("tf.nn.collapse_repeated(i([[1, 1, 2, 2, 1], [1, 0, 0, 3, 3]]), i([5, 3]))", ("device", "host")),
    _w("tf.nn.sampled_softmax_loss(w, b, y, x, 3, 6, sampled_values=s)"),
    _w("tf.nn.sampled_softmax_loss(w, b, y, x, 3, 6, sampled_values=s, remove_accidental_hits=False)"),
    _w("tf.nn.nce_loss(w, b, y, x, 3, 6, sampled_values=s)"),
    _w("tf.nn.nce_loss([w[:3], w[3:]], b, y, x, 3, 6, sampled_values=s, remove_accidental_hits=True)"),
    _w("tf.nn.all_candidate_sampler(y, 1, 6, True)"),
    _w("tf.nn.compute_accidental_hits(y, tf.constant([4, 0, 1], tf.int64), 1)", _EAGER),
]  # fmt: skip
