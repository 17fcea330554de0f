"""Handwritten digits from TFRecord files: written once, then read, parsed and learned under a strategy.

Run it with: python examples/mnist_records.py --data mnist.npz --strategy tpu --simulate tpu:8
"""

import command_line
import example_data

import stratax.tf as tf

options = command_line.parse(
    __doc__,
    strategy="mirrored",
    limit=6000,
    epochs=2,
    width=32,
    uses=("data", "records", "limit", "epochs", "batch_size", "width"),
)

READER_BUFFER = 8 * 1024 * 1024
TRAIN, EVAL = "train", "eval"


def make_input_fn(filename, mode):
    """Returns an `input_fn` for train and eval."""

    def input_fn(params):
        """Parses 28x28 images from `filename`."""
        batch_size = params["batch_size"]

        def parser(serialized_example):
            """Parses a single tf.Example into image and label."""
            features = tf.parse_single_example(
                serialized_example,
                features={
                    "image_raw": tf.FixedLenFeature([], tf.string),
                    "label": tf.FixedLenFeature([], tf.int64),
                },
            )
            image = tf.decode_raw(features["image_raw"], tf.uint8)
            # Normalize the values of the image from the range [0, 255] to [-0.5, 0.5]
            image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
            label = tf.cast(features["label"], tf.int32)
            return image, label

        dataset = tf.data.TFRecordDataset(filename, buffer_size=READER_BUFFER)
        if mode == TRAIN:
            dataset = dataset.shuffle(10_000, seed=0).repeat()
        dataset = dataset.map(parser, num_parallel_calls=tf.data.AUTOTUNE)
        return dataset.batch(batch_size, drop_remainder=mode == TRAIN).prefetch(tf.data.AUTOTUNE)

    return input_fn


def make_model(width):
    """A simple CNN."""
    return tf.keras.Sequential(
        [
            tf.keras.layers.Input([28 * 28]),
            tf.keras.layers.Reshape([28, 28, 1]),
            tf.keras.layers.Conv2D(width, 5, padding="same", activation="relu"),
            tf.keras.layers.MaxPooling2D(2),
            tf.keras.layers.Conv2D(2 * width, 5, padding="same", activation="relu"),
            tf.keras.layers.MaxPooling2D(2),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(4 * width, activation="relu"),
            tf.keras.layers.Dropout(0.4),
            tf.keras.layers.Dense(10),
        ]
    )


def train(strategy, train_file, test_file, num_examples):
    params = {"batch_size": min(options.batch_size, num_examples)}
    with strategy.scope():
        model = make_model(options.width)
        model.compile(
            optimizer=tf.keras.optimizers.Adam(
                tf.keras.optimizers.schedules.ExponentialDecay(0.002, 100_000, 0.96)
            ),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
    model.fit(
        make_input_fn(train_file, TRAIN)(params),
        epochs=options.epochs,
        steps_per_epoch=num_examples // params["batch_size"],
        verbose=2,
    )
    loss, accuracy = model.evaluate(make_input_fn(test_file, EVAL)(params), verbose=0)
    print(f"Loss: {loss:.6f}, Accuracy: {accuracy:.6f}")


def main():
    tf.random.set_seed(0)
    strategy = options.make_strategy()
    (x_train, y_train), (x_test, y_test) = example_data.mnist(options.data, options.limit)
    with options.record_folder() as folder:
        train_file = folder / f"train-{len(x_train)}.tfrecord"
        test_file = folder / f"test-{len(x_test)}.tfrecord"
        example_data.write_digits(train_file, x_train, y_train)
        example_data.write_digits(test_file, x_test, y_test)
        print(f"{len(x_train)} records in {train_file.name}, {len(x_test)} in {test_file.name}")
        train(strategy, train_file, test_file, len(x_train))


if __name__ == "__main__":
    main()
