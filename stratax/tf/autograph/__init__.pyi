from . import experimental as experimental
