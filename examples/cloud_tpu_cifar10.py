"""A convolutional network that learns CIFAR-10, from the article on Cloud TPU at CUBE SUGAR CONTAINER.

Run it with: python examples/cloud_tpu_cifar10.py --simulate tpu:8 --data cifar10-jpeg.zip
"""

# The lines are those of the original, so its layout and style stay: see docs/programs/.
# fmt: off
# ruff: noqa: D415, I001
import stratax.tf as tf

import command_line
import example_data

options = command_line.parse(__doc__, strategy='detect', batch_size=32, uses=('data', 'limit', 'epochs', 'batch_size'))


def detect_strategy():
    """The strategy for the hardware there is"""
    try:
        tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.config.experimental_connect_to_cluster(tpu)
        tf.tpu.experimental.initialize_tpu_system(tpu)
        devices = tf.config.list_logical_devices('TPU')
        if len(devices) > 0:
            # There is a TPU
            return tf.distribute.TPUStrategy(tpu)
    except ValueError:
        pass

    devices = tf.config.list_logical_devices('GPU')
    if len(devices) > 0:
        # There are GPUs
        return tf.distribute.MirroredStrategy()

    # Default
    return tf.distribute.get_strategy()


def normalize(element):
    """Images as floats between 0 and 1"""
    image = element['image']
    normalized_image = tf.cast(image, tf.float32) / 255.
    label = element['label']
    return normalized_image, label


def datafeed_pipeline(x, y, batch_size):
    """A pipeline over arrays in memory"""
    mappings = {
        'image': x,
        'label': y,
    }
    ds = tf.data.Dataset.from_tensor_slices(mappings)
    ds = ds.map(normalize)
    ds = ds.prefetch(tf.data.AUTOTUNE)
    ds = ds.batch(batch_size)
    ds = ds.cache()
    return ds


def main():
    # The images, in memory
    (train_x, train_y), (test_x, test_y) = example_data.cifar10(options.data, options.limit)

    # What they are like
    image_shape = train_x.shape[1:]
    num_classes = 10

    # Fix the random numbers
    tf.random.set_seed(42)

    # The strategy
    strategy = detect_strategy() if options.strategy == 'detect' else options.make_strategy()

    # The pipelines
    device_batch_size = options.batch_size  # Of one device
    global_batch_size = strategy.num_replicas_in_sync * device_batch_size
    ds_train = datafeed_pipeline(train_x, train_y, global_batch_size)
    ds_test = datafeed_pipeline(test_x, test_y, global_batch_size)

    with strategy.scope():
        # In the scope, so that its variables are the strategy's
        model = tf.keras.Sequential([
            tf.keras.layers.InputLayer(input_shape=image_shape),
            tf.keras.layers.Conv2D(32, (3, 3), activation='relu'),
            tf.keras.layers.MaxPooling2D((2, 2)),
            tf.keras.layers.Conv2D(64, (3, 3), activation='relu'),
            tf.keras.layers.MaxPooling2D((2, 2)),
            tf.keras.layers.Conv2D(128, (3, 3), activation='relu'),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation='relu'),
            tf.keras.layers.Dense(num_classes, activation='softmax')
        ])
        model.compile(
            loss='sparse_categorical_crossentropy',
            optimizer='adam',
            metrics=['sparse_categorical_accuracy'],
        )

    # What it is made of
    print(model.summary())

    # Train it
    fit_callbacs = [
        tf.keras.callbacks.EarlyStopping(monitor='val_loss',
                                         patience=5,
                                         mode='min'),
    ]
    model.fit(ds_train,
              epochs=options.epochs,
              validation_data=ds_test,
              callbacks=fit_callbacs,
              )

    # How good it is
    scr, sca = model.evaluate(ds_test)
    print(f'Loss: {scr}, Accuracy: {sca}')


if __name__ == '__main__':
    main()
