"""A custom loop of several workers, as programs have it: TF_CONFIG, a checkpoint, temporary folders."""

# Written as for TensorFlow.
# ruff: noqa: B905, UP031

import json
import os
import sys

import numpy as np
import tensorflow as tf

folder, epochs = sys.argv[1], int(sys.argv[2])
num_workers = len(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"])
global_batch_size = 4 * num_workers

options = tf.distribute.experimental.CommunicationOptions(
    implementation=tf.distribute.experimental.CommunicationImplementation.RING
)
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
resolver = strategy.cluster_resolver


def is_chief():
    if resolver.task_type == "worker":
        return resolver.task_id == 0 and "chief" not in resolver.cluster_spec().as_dict()
    return resolver.task_type in (None, "chief")


def where_to_write(path):
    if is_chief():
        return path
    temporary = os.path.join(os.path.dirname(path), f"workertemp_{resolver.task_id}")
    tf.io.gfile.makedirs(temporary)
    return os.path.join(temporary, os.path.basename(path))


x = (np.arange(48 * 3).reshape(48, 3) % 7 / 7).astype(np.float32)
y = (x.sum(1) > 1.2).astype(np.int64)


def make_dataset(context):
    size = context.get_per_replica_batch_size(global_batch_size)
    dataset = tf.data.Dataset.from_tensor_slices((x, y))
    return dataset.shard(context.num_input_pipelines, context.input_pipeline_id).batch(size)


with strategy.scope():
    regularizer = tf.keras.regularizers.L2(1e-3)
    dense = tf.keras.layers.Dense(2, kernel_initializer="ones", kernel_regularizer=regularizer)
    model = tf.keras.Sequential([tf.keras.Input((3,)), dense])
    optimizer = tf.keras.optimizers.SGD(0.5)
    accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
    training = strategy.distribute_datasets_from_function(make_dataset)
    whole = tf.data.Dataset.from_tensor_slices((x, y)).batch(global_batch_size)
    testing = strategy.experimental_distribute_dataset(whole)
losses_of = tf.keras.losses.SparseCategoricalCrossentropy(
    from_logits=True, reduction=tf.keras.losses.Reduction.NONE
)


@tf.function
def train_step(iterator):
    def step(inputs):
        features, labels = inputs
        with tf.GradientTape() as tape:
            outputs = model(features, training=True)
            outputs.set_shape([None, 2])
            loss = tf.nn.compute_average_loss(losses_of(labels, outputs), global_batch_size=global_batch_size)
            loss += tf.nn.scale_regularization_loss(tf.add_n(model.losses))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        accuracy.update_state(labels, outputs)
        return loss

    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(step, args=(next(iterator),)), axis=None)


@tf.function
def test_step(inputs):
    losses = strategy.run(lambda features, labels: losses_of(labels, model(features)), args=inputs)
    return strategy.reduce("MEAN", losses, axis=0)


epoch = tf.Variable(initial_value=tf.constant(0, dtype=tf.dtypes.int64), name="epoch")
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, epoch=epoch)
directory = where_to_write(os.path.join(folder, "ckpt"))
manager = tf.train.CheckpointManager(checkpoint, directory=directory, max_to_keep=1)
latest = tf.train.latest_checkpoint(os.path.join(folder, "ckpt"))
if latest:
    checkpoint.restore(latest)

while epoch.numpy() < epochs:
    iterator = iter(training)
    losses = [float(train_step(iterator)) for _ in range(3)]
    tested = np.mean([float(test_step(inputs)) for inputs in testing])
    print(
        "epoch %d loss %s test %.5f accuracy %.3f"
        % (epoch, [round(v, 5) for v in losses], tested, accuracy.result())
    )
    accuracy.reset_states()
    epoch.assign_add(1)
    manager.save()
    if not is_chief():
        tf.io.gfile.rmtree(directory)
