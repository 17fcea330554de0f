from ._vocabulary import read_entries as read_entries
