"""Images of folders, as TensorFlow reads them."""

import numpy as np
import pytest
from PIL import Image

import stratax.tf as tf


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for kind in "ab":
        (tmp_path / kind).mkdir()
        for i in range(4):
            image = rng.integers(0, 255, (20 + i, 30, 3)).astype("uint8")
            Image.fromarray(image).save(tmp_path / kind / f"{i}.png")
            (tmp_path / kind / f"{i}.txt").write_text(f"{kind} {i}")
    return tmp_path


def images(folder, **settings):
    settings = {"image_size": (16, 16), "batch_size": 4, "shuffle": False, "verbose": False, **settings}
    return tf.keras.utils.image_dataset_from_directory(folder, **settings)


@pytest.mark.parametrize(
    ("settings", "sums"),
    [
        ({}, [390210.9, 390246.6]),
        ({"color_mode": "grayscale"}, [130021.1, 129636.3]),
        ({"crop_to_aspect_ratio": True}, [386238.6, 390247.5]),
    ],
)
def test_images_of_folders_are_those_of_tensorflow(folder, settings, sums):
    dataset = images(folder, **settings)
    assert dataset.class_names == ["a", "b"]
    for i, (image, label) in enumerate(dataset):
        assert image.shape[:3] == (4, 16, 16)
        assert image.dtype == np.float32
        np.testing.assert_allclose(np.sum(image), sums[i], rtol=1e-6)
        np.testing.assert_array_equal(label, [i] * 4)


def test_a_model_trains_on_images_of_a_folder(folder):
    training, validation = images(folder, validation_split=0.5, subset="both", seed=1, label_mode="binary")
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy")
    history = model.fit(training.map(lambda x, y: (x / 255, y)), validation_data=validation, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
