"""Calls whose messages are compared with TensorFlow's, which makes them with the same functions."""

import numpy as np

_DRAWN = np.random.default_rng(0)
NORMAL = _DRAWN.normal(size=(40,)).astype("float32")
PICTURES = _DRAWN.uniform(-0.2, 1.2, (4, 3, 2, 3)).astype("float32")
SOUND = _DRAWN.uniform(-1.1, 1.1, (2, 5, 2)).astype("float32")


def eager(summary, name_scope):
    """Functions of TensorFlow 2."""
    summary.scalar("loss", 0.1, step=1, description="the loss")
    summary.scalar("count", 7, step=2)
    with name_scope("outer"), name_scope("inner"):
        summary.scalar("a b", 1.0, step=3)
        summary.histogram("normal", NORMAL, step=3)
    summary.histogram("few", [1.0, 2.0, 2.0, 5.0], step=4, buckets=4, description="few")
    summary.histogram("one", np.full((3,), 2.5), step=4, buckets=3)
    summary.histogram("none", np.zeros((0,)), step=4, buckets=2)
    summary.image("floats", PICTURES, step=5, max_outputs=2)
    summary.image("bytes", np.arange(8, dtype="uint8").reshape(1, 2, 4, 1) * 30, step=5)
    summary.text("text", "# title", step=6)
    summary.text("table", np.array([["a", "b"], ["c", "d"]]), step=6)
    summary.audio("sound", SOUND, 8000, step=7, encoding="wav")
    summary.write("numbers", np.arange(3, dtype="int32"), step=8)


def graph(summary, name_scope, constant):
    """Functions of TensorFlow 1."""
    summary.scalar("loss", constant(0.1))
    summary.scalar("loss", constant(0.2))
    summary.scalar("a b", constant(1.0), family="some family")
    with name_scope("outer"):
        summary.scalar("inner", constant(3))
        summary.histogram("normal", constant(NORMAL))
    summary.histogram("edges", constant(np.array([0.0, 1e-13, -1.0, 1.0, 1e25, -1e25], "float32")))
    summary.image("positive", constant(np.abs(PICTURES)), max_outputs=2)
    summary.image("signed", constant(PICTURES - 0.5), max_outputs=1)
    summary.image("odd", constant(np.where(PICTURES > 1, np.nan, PICTURES).astype("float32")), max_outputs=1)
    summary.image("dark", constant(np.zeros((1, 2, 2, 1), "float32")))
    summary.image("bytes", constant(np.arange(8, dtype="uint8").reshape(1, 2, 4, 1) * 30))
    summary.audio("sound", constant(SOUND), 8000.0)
    summary.text("text", constant("# title"))
    summary.tensor_summary("numbers", constant(np.arange(3, dtype="int32")))
