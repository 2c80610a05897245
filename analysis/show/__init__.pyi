from . import describe as describe
from . import describe_plot as describe_plot
from . import page as page
from . import plots as plots
from . import replay_report as replay_report
from . import report as report
from . import run_plots as run_plots
