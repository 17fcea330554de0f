from ._growing import Growing as Growing
from ._growing import Unallocated as Unallocated
from ._loops import largest_of as largest_of
