"""What a problem is: jobs, clusters, schedules, generators, traces and the library."""

from . import convert as convert
from . import deadlines as deadlines
from . import generate as generate
from . import io as io
from . import library as library
from . import traces as traces
from .convert import Conversion as Conversion
from .model import Cluster as Cluster
from .model import DeadlineJob as DeadlineJob
from .model import Instance as Instance
from .model import Iterations as Iterations
from .model import Job as Job
from .model import Linear as Linear
from .model import Node as Node
from .model import ParameterServerJob as ParameterServerJob
from .model import Power as Power
from .model import RingJob as RingJob
from .model import Table as Table
from .model import TargetMetric as TargetMetric
from .model import User as User
from .model import Utility as Utility
from .schedule import Allocation as Allocation
from .schedule import Schedule as Schedule
from .schedule import Segment as Segment
from .traces import ReadReport as ReadReport
from .traces import Trace as Trace
