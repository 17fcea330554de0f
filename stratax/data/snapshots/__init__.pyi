from ._file_cache import make_file_cache as make_file_cache
from ._save_load import load as load
from ._save_load import save as save
