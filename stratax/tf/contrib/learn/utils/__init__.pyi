from . import saved_model_export_utils as saved_model_export_utils
