from ._creation import Creator as Creator
from ._creation import creating_by as creating_by
from ._creation import has_creator as has_creator
from ._creation import is_made as is_made
from ._creation import last_name as last_name
