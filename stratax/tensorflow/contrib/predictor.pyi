from ._predictor import SavedModelPredictor as SavedModelPredictor
from ._predictor import from_estimator as from_estimator
from ._predictor import from_saved_model as from_saved_model
