"""Algorithms: functions from a problem to a result, exact solving, and the papers' baselines."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from . import baselines as baselines
from .bounds import area_bound as area_bound
from .estimator import DurationEstimates as DurationEstimates
from .estimator import IterationTimes as IterationTimes
from .fluid_sharing import fluid_sharing as fluid_sharing
from .fluid_sharing import max_min_shares as max_min_shares
from .laminar_blocks import LaminarParams as LaminarParams
from .laminar_blocks import laminar as laminar
from .learning_curves import CurveEnsemble as CurveEnsemble
from .ltgf import LtgfPolicy as LtgfPolicy
from .ltgf import PrintedLtgf as PrintedLtgf
from .ltgf_round import one_round as one_round
from .policy import Decision as Decision
from .policy import Phase as Phase
from .policy import Policy as Policy
from .policy import Preempts as Preempts
from .policy import Rules as Rules
from .policy import Start as Start
from .policy import State as State
from .rar_ddls import SjfBcoParams as SjfBcoParams
from .rar_ddls import sjf_bco as sjf_bco
from .result import Bound as Bound
from .result import Refuted as Refuted
from .result import Result as Result
from .result import Status as Status
from .result import Stop as Stop

if TYPE_CHECKING:
    from .gandiva_fair import GandivaFair as GandivaFair
    from .irmp import Accounts as Accounts
    from .irmp import AstraeaParams as AstraeaParams
    from .irmp import accounts as accounts
    from .irmp import astraea as astraea
    from .irmp import batch_sche as batch_sche
    from .irmp import ideal_revenue as ideal_revenue
    from .irmp_chain import irmp_exact as irmp_exact
    from .irmp_columns import revenue_bound as revenue_bound
    from .irmp_lists import lp_list as lp_list
    from .irmp_lists import posted_prices as posted_prices
    from .irmp_online import online_density as online_density
    from .irmp_online import online_fifo as online_fifo
    from .irmp_online import online_slope as online_slope
    from .irmp_online import online_spt as online_spt
    from .irmp_online import rolling_lp as rolling_lp
    from .irmp_response import Occupancy as Occupancy
    from .irmp_response import Response as Response
    from .irmp_response import best_response as best_response
    from .irmp_response import zero_price_response as zero_price_response
    from .irmp_search import RevenueSearchParams as RevenueSearchParams
    from .irmp_search import revenue_search as revenue_search
    from .market import efficient_allocation as efficient_allocation
    from .market import exchange_rates as exchange_rates
    from .market import market_bound as market_bound
    from .market import max_min_allocation as max_min_allocation
    from .market import nash_allocation as nash_allocation
    from .trading import Trade as Trade
    from .trading import Trading as Trading
    from .trading import log_of_changes as log_of_changes
    from .trading import trade as trade
    from .unisched import UniSchedParams as UniSchedParams
    from .unisched import density_greedy as density_greedy
    from .unisched import lp_selector as lp_selector
    from .unisched import opportunity_price as opportunity_price
    from .unisched_policy import UniSchedPolicy as UniSchedPolicy

# What needs HiGHS, numba or scipy is imported when it is asked for: they take a second each.
_LATER = {
    "Accounts": "irmp",
    "AstraeaParams": "irmp",
    "GandivaFair": "gandiva_fair",
    "Occupancy": "irmp_response",
    "Response": "irmp_response",
    "RevenueSearchParams": "irmp_search",
    "Trade": "trading",
    "Trading": "trading",
    "UniSchedParams": "unisched",
    "UniSchedPolicy": "unisched_policy",
    "accounts": "irmp",
    "astraea": "irmp",
    "batch_sche": "irmp",
    "best_response": "irmp_response",
    "density_greedy": "unisched",
    "efficient_allocation": "market",
    "exchange_rates": "market",
    "ideal_revenue": "irmp",
    "irmp_exact": "irmp_chain",
    "log_of_changes": "trading",
    "lp_list": "irmp_lists",
    "lp_selector": "unisched",
    "market_bound": "market",
    "max_min_allocation": "market",
    "nash_allocation": "market",
    "online_density": "irmp_online",
    "online_fifo": "irmp_online",
    "online_slope": "irmp_online",
    "online_spt": "irmp_online",
    "opportunity_price": "unisched",
    "posted_prices": "irmp_lists",
    "revenue_bound": "irmp_columns",
    "revenue_search": "irmp_search",
    "rolling_lp": "irmp_online",
    "trade": "trading",
    "zero_price_response": "irmp_response",
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(f".{_LATER[name]}", __name__), name)
