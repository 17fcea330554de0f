from . import v1 as v1
