from ._epochs import StepAdapter as StepAdapter
