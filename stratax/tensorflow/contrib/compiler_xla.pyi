from ._compiler import compile as compile
