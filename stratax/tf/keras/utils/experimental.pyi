from stratax.keras import DatasetCreator as DatasetCreator
