from ._parallel_reader import get_data_files as get_data_files
