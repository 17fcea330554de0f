from ._parts import Parts as Parts
from ._parts import give_parts as give_parts
from ._parts import is_marked_kept as is_marked_kept
from ._parts import parts_of as parts_of
