"""Make graphs that a `Saver` of TensorFlow wrote, and TensorFlow's answers: `python make_meta_graphs.py FOLDER`.

Run it with TensorFlow 2.15. Below the folder each case is `NAME/model.ckpt.*` and an archive `NAME/answers.npz`: what
was fed (`x`, `y`), the prediction and loss after the checkpoint (`p`, `loss`), losses of three further steps (`losses`)
and the variables behind them (`after/NAME`). Both are in `tests/golden/meta_graphs/NAME.zip`.
"""

import pathlib
import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.disable_v2_tensorshape()


def data(*shape):
    random = np.random.default_rng(0)
    return random.uniform(-1, 1, (8, *shape)).astype(np.float32), random.integers(0, 3, 8)


def dense():
    """A perceptron with variables of TensorFlow 1, Adam, a step, an average and collections."""
    tf.disable_resource_variables()
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")
    keep = tf.placeholder_with_default(1.0, [], name="keep")
    with tf.variable_scope("hidden"):
        w = tf.get_variable("w", [4, 5], initializer=tf.truncated_normal_initializer(seed=1))
        b = tf.Variable(tf.zeros([5]), name="b")
        h = tf.nn.dropout(tf.nn.relu(tf.matmul(x, w) + b, name="relu"), rate=1 - keep)
    logits = tf.layers.dense(h, 3, name="logits")
    tf.nn.softmax(logits, name="p")
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss"
    )
    tf.losses.add_loss(loss)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 2, 0.9)
    train = tf.train.AdamOptimizer(rate).minimize(loss, step, name="train")
    average = tf.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([train]):
        train_op = average.apply([w])
    tf.add_to_collection("train_op", train_op)
    tf.add_to_collection("logits", logits)
    tf.add_to_collection("inputs", x)
    return data(4), train_op


def resources():
    """Layers with resource variables, batch normalization and momentum."""
    tf.enable_resource_variables()
    x = tf.placeholder(tf.float32, [None, 6, 6, 2], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")
    net = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu)
    net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.flatten(net)
    logits = tf.layers.dense(net, 3)
    tf.nn.softmax(logits, name="p")
    loss = tf.losses.softmax_cross_entropy(tf.one_hot(y, 3), logits)
    loss = tf.identity(loss + 0.01 * tf.nn.l2_loss(tf.trainable_variables()[0]), name="loss")
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9)
    gradients = [(tf.clip_by_norm(g, 1.0), v) for g, v in optimizer.compute_gradients(loss)]
    train_op = optimizer.apply_gradients(gradients, tf.train.get_or_create_global_step())
    tf.add_to_collection("train_op", train_op)
    return data(6, 6, 2), train_op


def renamed():
    """Gradient descent, where the checkpoint has other names than the graph."""
    tf.disable_resource_variables()
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")
    w = tf.Variable(tf.random_uniform([2, 1], seed=1), name="w")
    b = tf.Variable(0.5, name="b", trainable=False)
    p = tf.add(tf.matmul(x, w), b, name="p")
    loss = tf.reduce_mean(tf.square(p - tf.cast(y, tf.float32)[:, None]), name="loss")
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    tf.add_to_collection("train_op", train_op)
    return data(2), train_op, {"weights": w, "bias": b}


def main():
    for function in (dense, resources, renamed):
        folder = pathlib.Path(sys.argv[1], function.__name__)
        folder.mkdir(parents=True, exist_ok=True)
        with tf.Graph().as_default(), tf.Session() as session:
            (x, y), train_op, *names = function()
            saver = tf.train.Saver(*names, max_to_keep=3)
            session.run(tf.global_variables_initializer())
            fed = {"x:0": x, "y:0": y}
            for _ in range(2):
                session.run(train_op, fed)
            saver.save(session, str(folder / "model.ckpt"), write_state=False)
            p, loss = session.run(["p:0", "loss:0"], fed)
            losses = []
            for _ in range(3):
                session.run(train_op, fed)
                losses.append(session.run("loss:0", fed))
            after = {f"after/{each.op.name}": session.run(each) for each in tf.global_variables()}
            np.savez(folder / "answers.npz", x=x, y=y, p=p, loss=loss, losses=losses, **after)
            tf.io.write_graph(tf.get_default_graph(), str(folder), "graph.pbtxt")


if __name__ == "__main__":
    main()
