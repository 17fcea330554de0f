from ._formats import Arrays as Arrays
from ._formats import CheckpointFormat as CheckpointFormat
from ._formats import register_format as register_format
