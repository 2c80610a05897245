"""What a problem is: jobs, clusters, schedules, generators, traces and the library."""

from .model import Cluster as Cluster
from .model import Instance as Instance
from .model import Job as Job
from .model import Node as Node
from .model import RingJob as RingJob
from .model import User as User
from .schedule import Allocation as Allocation
from .schedule import Schedule as Schedule
from .schedule import Segment as Segment
