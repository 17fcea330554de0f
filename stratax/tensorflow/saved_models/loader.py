"""`tf.compat.v1.saved_model.loader` (saved_models layer)."""

from stratax.tensorflow.saved_models._load import contains_saved_model as maybe_saved_model_directory
from stratax.tensorflow.saved_models._session_loading import load_into_session as load

__all__ = ["load", "maybe_saved_model_directory"]
