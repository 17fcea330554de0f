from ._file_writer import FileWriter as FileWriter
from ._file_writer import FileWriterCache as FileWriterCache
from ._file_writer import open_shared as open_shared
from ._iterator import summary_iterator as summary_iterator
