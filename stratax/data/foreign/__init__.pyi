from ._adopted import adopted as adopted
