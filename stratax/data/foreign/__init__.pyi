from ._as_dataset import adopted as adopted
