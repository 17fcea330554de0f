from ._parse import parse_example as parse_example
