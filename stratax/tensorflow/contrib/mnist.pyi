import stratax.tensorflow.contrib._mnist

from ._mnist import dense_to_one_hot as dense_to_one_hot
from ._mnist import extract_images as extract_images
from ._mnist import extract_labels as extract_labels
from ._mnist import load_mnist as load_mnist
from ._mnist import read_data_sets as read_data_sets

DataSet = stratax.tensorflow.contrib._mnist.MnistDataSet
