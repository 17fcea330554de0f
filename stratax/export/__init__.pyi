from stratax.tensorflow.exports.saved_model import convert_to_saved_model as convert_to_saved_model

from ._folder import contains as contains
from ._load import Export as Export
from ._load import LoadedProgram as LoadedProgram
from ._load import LoadedSignature as LoadedSignature
from ._load import load as load
from ._manifest import TensorInfo as TensorInfo
from ._save import save as save
from ._trace import ExportedFunction as ExportedFunction
