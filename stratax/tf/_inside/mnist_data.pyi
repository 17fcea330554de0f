from ._mnist_data import DataSet as DataSet
from ._mnist_data import extract_images as extract_images
from ._mnist_data import extract_labels as extract_labels
from ._mnist_data import read_data_sets as read_data_sets
