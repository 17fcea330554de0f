"""A program for a parameter server and a worker in one process, as in TensorFlow's tutorial, for both libraries."""

import socket

import numpy as np

OPTIMIZERS = {
    "sgd": lambda tf: tf.keras.optimizers.SGD(0.1),
    "momentum": lambda tf: tf.keras.optimizers.SGD(0.1, momentum=0.9),
    "adam": lambda tf: tf.keras.optimizers.Adam(0.05),
    "adagrad": lambda tf: tf.keras.optimizers.Adagrad(0.1),
}
STEPS = 6


def make_cluster(tf):
    """Start one server of each kind in this process, and return the resolver."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    cluster = {"worker": addresses[:1], "ps": addresses[1:]}
    spec = tf.train.ClusterSpec(cluster)
    tasks = [tf.distribute.Server(spec, job_name=job, task_index=0, protocol="grpc") for job in cluster]
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")
    return tasks, resolver


def train(tf, coordinator, name):
    """Train a small network step by step; return the losses and the weights."""
    strategy = coordinator.strategy
    random = np.random.default_rng(0)
    x = random.normal(size=(24, 3)).astype("float32")
    y = (x @ np.array([[1.0], [-2.0], [0.5]]) + 1).astype("float32")
    first = random.normal(size=(3, 4)).astype("float32")
    second = random.normal(size=(4, 1)).astype("float32")
    with strategy.scope():
        weights = [tf.Variable(first, name=f"first_{name}"), tf.Variable(second, name=f"second_{name}")]
        optimizer = OPTIMIZERS[name](tf)
        optimizer.build(weights)

    def dataset_fn(context):
        return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(8)

    @tf.function
    def per_worker_dataset_fn():
        return strategy.distribute_datasets_from_function(dataset_fn)

    @tf.function
    def step_fn(iterator):
        def replica_fn(batch):
            features, labels = batch
            with tf.GradientTape() as tape:
                hidden = tf.nn.relu(tf.matmul(features, weights[0]))
                loss = tf.reduce_mean(tf.square(tf.matmul(hidden, weights[1]) - labels))
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return loss

        losses = strategy.run(replica_fn, args=(next(iterator),))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    iterator = iter(coordinator.create_per_worker_dataset(per_worker_dataset_fn))
    losses = []
    for _ in range(STEPS):
        value = coordinator.schedule(step_fn, args=(iterator,))
        coordinator.join()
        losses.append(float(value.fetch()))
    return {"losses": losses, "weights": [np.asarray(weight.numpy()).tolist() for weight in weights]}
