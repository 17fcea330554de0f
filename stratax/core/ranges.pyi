from ._ranges import check as check
from ._ranges import watches_of as watches_of
from ._ranges import watching as watching
