from ._autograph import convert as convert
from ._autograph import do_not_convert as do_not_convert
from ._desugar import REWRITINGS as REWRITINGS
from ._transpile import Transpiler as Transpiler
