"""The frameworks, by the name of their command. A new one is one file, one import and one entry."""

from dlf.frameworks import pytorch
from dlf.frameworks.framework import Framework

BY_NAME: dict[str, Framework] = {each.name: each for each in (pytorch.FRAMEWORK,)}
