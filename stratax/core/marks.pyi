from ._marks import marked as marked
from ._marks import used_marks as used_marks
