"""What Stratax takes from AutoGraph, the package `diastatic-malt`, and why (seams layer).

- `PyToPy`, `GenericTranspiler`, `anno`: the passes over the syntax tree without AutoGraph's way of loading the result,
  which writes a file for every function and loses the user's line numbers.
- `converter`: the options that rewritten code names.
- `py_builtins`: `super()`, `locals()`, `globals()` and `eval()` in rewritten code mean the user's function.
"""

from malt.core import converter
from malt.impl.api import PyToPy
from malt.operators import py_builtins
from malt.pyct import anno
from malt.pyct.transpiler import GenericTranspiler

__all__ = ["GenericTranspiler", "PyToPy", "anno", "converter", "py_builtins"]
