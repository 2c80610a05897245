from . import reproduce as reproduce
from . import theorems as theorems
