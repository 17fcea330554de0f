from stratax.tf import keras as keras
