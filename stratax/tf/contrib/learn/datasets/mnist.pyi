"""`tf.contrib.learn.datasets.mnist`: digits in batches (tf layer)."""

import stratax.tensorflow.contrib._mnist
from stratax.tensorflow.contrib._mnist import dense_to_one_hot as dense_to_one_hot
from stratax.tensorflow.contrib._mnist import extract_images as extract_images
from stratax.tensorflow.contrib._mnist import extract_labels as extract_labels
from stratax.tensorflow.contrib._mnist import load_mnist as load_mnist
from stratax.tensorflow.contrib._mnist import read_data_sets as read_data_sets

DataSet = stratax.tensorflow.contrib._mnist.MnistDataSet
