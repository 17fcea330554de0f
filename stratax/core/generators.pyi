from ._generator import drawing_from as drawing_from
from ._generator import generator_of as generator_of
from ._generator import is_made_now as is_made_now
from ._generator import replace as replace
from ._generator import reset as reset
