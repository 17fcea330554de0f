from . import data as data
from . import summary as summary
