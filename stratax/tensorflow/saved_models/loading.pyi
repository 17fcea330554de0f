from ._load import contains_saved_model as contains_saved_model
from ._load import load as load
