from ._saved_model import load_keras_model as load_keras_model
from ._saved_model import save_keras_model as save_keras_model
