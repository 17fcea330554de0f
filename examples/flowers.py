"""Photographs of flowers: converted to TFRecord files once, then read, augmented and learned under a strategy.

Run it with: python examples/flowers.py --data flowers --strategy tpu --simulate tpu:8
Where `flowers` has the folders train/<class> and val/<class>.
"""

import sys

import command_line

import stratax.tf as tf
from stratax import convert

options = command_line.parse(
    __doc__,
    strategy="mirrored",
    epochs=2,
    batch_size=40,
    width=16,
    uses=("data", "records", "epochs", "batch_size", "width"),
)

NUM_CHANNELS = 3
HEIGHT, WIDTH = 64, 64
TRAIN, EVAL = "train", "eval"


def convert_photographs(folder, split):
    """Converts the photographs of one split, or finds them converted: what was interrupted goes on."""
    settings = convert.ConversionSettings(name=split, shards=4, resize=2 * HEIGHT)
    return convert.convert_images(options.data / split, folder, settings, on_error="skip")


def read_and_preprocess(example_data, mode):
    """One record: an image with values between -1 and 1, and a label from 0."""
    parsed = tf.parse_single_example(
        example_data,
        {
            "image/encoded": tf.FixedLenFeature((), tf.string, ""),
            "image/class/label": tf.FixedLenFeature([], tf.int64, 1),
        },
    )
    image_bytes = parsed["image/encoded"]
    label = tf.cast(tf.reshape(parsed["image/class/label"], shape=[]), dtype=tf.int32) - 1

    # end up with pixel values that are in the -1, 1 range
    image = tf.image.decode_jpeg(image_bytes, channels=NUM_CHANNELS)
    image = tf.image.convert_image_dtype(image, dtype=tf.float32)  # 0-1
    image = tf.expand_dims(image, 0)  # resize_bilinear needs batches

    if mode == TRAIN:
        image = tf.image.resize_bilinear(image, [HEIGHT + 10, WIDTH + 10], align_corners=False)
        image = tf.squeeze(image)  # remove batch dimension
        image = tf.random_crop(image, [HEIGHT, WIDTH, NUM_CHANNELS])
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_brightness(image, max_delta=63.0 / 255.0)
        image = tf.image.random_contrast(image, lower=0.2, upper=1.8)
    else:
        image = tf.image.resize_bilinear(image, [HEIGHT, WIDTH], align_corners=False)
        image = tf.squeeze(image)

    # pixel values are in range [0,1], convert to [-1,1]
    image = tf.subtract(image, 0.5)
    image = tf.multiply(image, 2.0)
    return image, label


def make_input_fn(pattern, mode):
    """Returns an `input_fn`, whose batches are of one size in training."""

    def input_fn(params):
        is_training = mode == TRAIN
        dataset = tf.data.Dataset.list_files(pattern, shuffle=is_training, seed=0)
        # Several files are read in turn, so that a batch has images of all of them.
        dataset = dataset.interleave(
            lambda name: tf.data.TFRecordDataset(name, buffer_size=8 * 1024 * 1024),
            cycle_length=4,
            num_parallel_calls=tf.data.AUTOTUNE,
        )
        if is_training:
            dataset = dataset.shuffle(1024, seed=0).repeat()
        dataset = dataset.map(
            lambda record: read_and_preprocess(record, mode), num_parallel_calls=tf.data.AUTOTUNE
        )
        dataset = dataset.batch(params["batch_size"], drop_remainder=is_training)
        return dataset.prefetch(tf.data.AUTOTUNE)

    return input_fn


def make_model(width, num_classes):
    """A small convolutional network."""
    return tf.keras.Sequential(
        [
            tf.keras.layers.Input([HEIGHT, WIDTH, NUM_CHANNELS]),
            tf.keras.layers.Conv2D(width, 3, strides=2, activation="relu"),
            tf.keras.layers.Conv2D(2 * width, 3, strides=2, activation="relu"),
            tf.keras.layers.Conv2D(4 * width, 3, strides=2, activation="relu"),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(num_classes),
        ]
    )


def train(strategy, folder, converted):
    params = {"batch_size": min(options.batch_size, converted.images)}
    with strategy.scope():
        model = make_model(options.width, len(converted.classes))
        model.compile(
            optimizer=tf.keras.optimizers.Adam(0.002),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
    model.fit(
        make_input_fn(str(folder / "train-*"), TRAIN)(params),
        epochs=options.epochs,
        steps_per_epoch=converted.images // params["batch_size"],
        verbose=2,
    )
    loss, accuracy = model.evaluate(make_input_fn(str(folder / "val-*"), EVAL)(params), verbose=0)
    print(f"Loss: {loss:.6f}, Accuracy: {accuracy:.6f}")


def main():
    if options.data is None:
        sys.exit(
            "Give the folder of the photographs: --data flowers, with train/<class> and val/<class> in it."
        )
    tf.random.set_seed(0)
    strategy = options.make_strategy()
    with options.record_folder() as folder:
        converted = convert_photographs(folder, "train")
        convert_photographs(folder, "val")
        print(f"{converted.images} photographs of {', '.join(converted.classes)}")
        train(strategy, folder, converted)


if __name__ == "__main__":
    main()
