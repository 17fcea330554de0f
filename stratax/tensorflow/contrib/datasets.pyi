import stratax.tensorflow.contrib._datasets

from ._datasets import Datasets as Datasets
from ._datasets import load_csv_with_header as load_csv_with_header
from ._datasets import load_csv_without_header as load_csv_without_header
from ._datasets import maybe_download as maybe_download

Dataset = stratax.tensorflow.contrib._datasets.LabeledArrays
