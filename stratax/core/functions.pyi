from ._autograph import convert as convert
from ._loops import for_rows as for_rows
from ._loops import reduce as reduce
from ._stream import next_optional as next_optional
