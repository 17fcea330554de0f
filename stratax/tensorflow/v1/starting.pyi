from ._from_checkpoint import begin_with as begin_with
from ._from_checkpoint import is_seed as is_seed
from ._from_checkpoint import model_variables as model_variables
