from . import mnist as mnist
