"""What programs import of `tensorflow.python.lib.io.file_io` (tf layer)."""

import stratax.io.gfile
import stratax.tensorflow.checkpoints.listing
from stratax.io.gfile import copy as copy
from stratax.io.gfile import rename as rename
from stratax.io.gfile import stat as stat
from stratax.io.gfile import walk as walk

from ._files import read_file_to_string as read_file_to_string
from ._files import write_string_to_file as write_string_to_file

FileIO = stratax.io.gfile.GFile
get_matching_files = stratax.tensorflow.checkpoints.listing.glob
create_dir = stratax.io.gfile.mkdir
delete_file = stratax.io.gfile.remove
delete_recursively = stratax.io.gfile.rmtree
file_exists = stratax.tensorflow.checkpoints.listing.exists
is_directory = stratax.io.gfile.isdir
list_directory = stratax.tensorflow.checkpoints.listing.listdir
recursive_create_dir = stratax.io.gfile.makedirs
