from ._file_writer import FileWriter as FileWriter
from ._file_writer import FileWriterCache as FileWriterCache
from ._iterator import summary_iterator as summary_iterator
