from . import input_data as input_data
