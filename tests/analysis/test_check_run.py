"""The checker of runs: a correct run passes, each way of breaking one is named."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.run import EventKind, Run
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, Node
from gangsched.solvers import Stop
from gangsched.solvers.policy import Preempts, Rules
from hand_run import (
    FINISH,
    INSTANCE,
    KILL,
    LEFT,
    PIECES,
    PROFILED,
    REJECTED,
    RULES,
    SUSPEND,
    Piece,
    hand_run,
    log_of,
    with_events,
    with_record,
)
from malformed import table

VISIBLE, START, PROFILE = EventKind.VISIBLE, EventKind.START, EventKind.PROFILE


def changed_pieces(good: Sequence[Piece], changed: dict[str, Any]) -> tuple[Piece, ...]:
    """The segments but for those that a table has, by their number."""
    found = list(good)
    for number, (job, start, end, nodes, *how) in changed.items():
        gpus = {int(node): count for node, count in nodes.items()}
        found[int(number)] = Piece(job, start, end, gpus, *(EventKind[name] for name in how))
    return tuple(found)


def pieces(**other: Piece | None) -> tuple[Piece, ...]:
    """The good segments with some replaced (p0=...) or left out (p0=None), and p6, p7 added."""
    every = {f"p{i}": piece for i, piece in enumerate(PIECES)} | other
    return tuple(piece for piece in every.values() if piece is not None)


# --- correct runs --------------------------------------------------------------------------------


def test_a_correct_run_passes() -> None:
    run = hand_run()
    assert violations(run) == []
    assert violations(run, preempts=Preempts.LEASE) == []
    assert violations(run, preempts=Preempts.ALWAYS) == []


def test_the_order_of_segments_does_not_matter() -> None:
    assert violations(hand_run(PIECES[::-1])) == []


def test_a_run_that_was_stopped_passes_with_segments_until_then() -> None:
    cut = (
        Piece(0, 0, 120, {0: 4, 1: 2}, None),
        *PIECES[1:3],
        Piece(4, 60, 120, {1: 1}, None),
    )
    left = {**LEFT, 0: 80, 3: 90, 4: 40}
    run = hand_run(cut, left=left, stop=Stop.ITERATION_LIMIT, now=120)
    assert violations(run) == []
    # a job that starts in the last round has no segment yet
    at_last = with_events(run, [*log_of(run), (120, 3, START)])
    assert violations(with_record(at_last, starts={3: 2})) == []


def test_a_job_that_is_not_visible_yet_has_no_event() -> None:
    run = hand_run((Piece(0, 0, 30, {0: 4, 1: 2}, None),), now=30, stop=Stop.INTERRUPTED)
    run = with_record(run, left={0: 170, 1: 50, 3: 150, 4: 100})
    assert violations(run) == []
    assert len(run.events) == 2


def test_a_run_that_stops_where_it_begins_has_no_segment() -> None:
    instance = replace(INSTANCE, jobs=INSTANCE.jobs[:1])
    run = hand_run((), instance=instance, rejected=(), left={0: 200}, now=0, stop=Stop.INTERRUPTED)
    run = with_events(run, [(0, 0, VISIBLE), (0, 0, START)])
    assert violations(with_record(run, first={0: 0}, starts={0: 1})) == []


def test_a_run_without_jobs_passes() -> None:
    nothing = Instance(Cluster.of_sizes([1]), [])
    assert violations(hand_run((), instance=nothing, rejected=())) == []


ASYNC = replace(RULES, synchronous=False)
LEASED = (*PIECES[:2], Piece(3, 60, 180, {1: 1}, SUSPEND), Piece(3, 180, 235, {2: 1}))


def test_an_asynchronous_lease_ends_on_its_own_clock() -> None:
    run = hand_run((*LEASED, Piece(4, 60, 160, {1: 1})), rules=ASYNC)
    assert violations(run, preempts=Preempts.LEASE) == []
    assert violations(run, preempts=Preempts.NEVER) == [
        "lease: job 'd' runs from 60 and is stopped at 180, the policy never preempts"
    ]


def test_a_kill_keeps_the_leases_that_have_ended() -> None:
    # e runs from 60, so a kill at 240 leaves it the 120 s of the lease until 180
    long = [replace(job, work=130) if job.id == "e" else job for job in INSTANCE.jobs]
    instance = replace(INSTANCE, jobs=long)

    def found(*rest: Piece) -> list[str]:
        run = hand_run((*LEASED, *rest), rules=ASYNC, instance=instance)
        return violations(run, preempts=Preempts.LEASE)

    killed = Piece(4, 60, 240, {1: 1}, KILL)
    assert found(killed, Piece(4, 300, 335, {1: 1})) == []
    assert found(killed, Piece(4, 300, 330, {1: 1})) == [
        "completion: job 'e' ends at 330, from 300 with 25 s of overhead it must end at 335"
    ]
    early = Piece(4, 60, 120, {1: 1}, KILL)  # within its first lease: nothing is left
    assert found(early, Piece(4, 180, 335, {1: 1})) == []


def test_a_killed_job_may_begin_again_where_it_was() -> None:
    again = pieces(p4=Piece(4, 60, 120, {1: 1}, KILL), p5=Piece(4, 120, 185, {1: 1}))
    assert violations(hand_run(again)) == []


def test_spread_gangs_pass_where_they_may() -> None:
    spread = pieces(p1=Piece(1, 60, 110, {1: 1, 2: 1}), p2=Piece(3, 60, 120, {2: 1}, SUSPEND),
                    p3=Piece(3, 120, 235, {1: 1}))  # fmt: skip
    assert violations(hand_run(spread, rules=replace(RULES, spread=True))) == []
    assert violations(hand_run(spread)) == [
        "placement: job 'b' of 2 GPUs has {1: 1, 2: 1} from 60, which is not consolidated"
    ]


# --- broken in one way ---------------------------------------------------------------------------

RUNS = table("broken_runs")
SEGMENTS = RUNS["segments"]


def test_overlapping_segments_of_a_job_are_named() -> None:
    found = violations(hand_run(pieces(p3=Piece(3, 60, 175, {2: 1}))))
    assert found[0] == "order: job 'd' starts at 60 in its segment [60, 120)"
    assert "events: job 'd' has START after START, at 60" in found


@pytest.mark.parametrize("case", SEGMENTS)
def test_broken_segments_are_named(case: str) -> None:
    changed, messages = SEGMENTS[case]
    assert sorted(violations(hand_run(changed_pieces(PIECES, changed)))) == sorted(messages)


def test_a_suspension_off_the_lease_is_named() -> None:
    early = pieces(p2=Piece(3, 60, 180, {1: 1}, SUSPEND), p3=Piece(3, 180, 235, {2: 1}))
    run = hand_run(early)
    assert violations(run) == violations(run, preempts=Preempts.ALWAYS) == []
    assert violations(run, preempts=Preempts.LEASE) == [
        "lease: job 'd' runs from 60 and is stopped at 180, no lease of 120 s ends"
    ]


def test_nothing_may_stop_under_a_policy_that_never_preempts() -> None:
    assert violations(hand_run(), preempts=Preempts.NEVER) == [
        "lease: job 'd' runs from 60 and is stopped at 120, the policy never preempts",
        "lease: job 'e' runs from 60 and is stopped at 180, the policy never preempts",
    ]


# --- events --------------------------------------------------------------------------------------

GOOD = log_of(hand_run())
EVENTS = {
    "order of time": (
        [GOOD[1], GOOD[0], *GOOD[2:-2], GOOD[-1], GOOD[-2]],
        ["events: time falls from 305 to 240",
         "events: job 'a' has START at first, at 0",
         "events: job 'a' has VISIBLE after START, at 0",
         "events: job 'a' has FINISH after VISIBLE, at 200",
         "events: job 'e' has FINISH after KILL, at 305",
         "events: job 'e' has START after FINISH, at 240"],
    ),
    "visible": (
        [(0, 1, VISIBLE), *(row for row in GOOD if row != (60, 1, VISIBLE))],
        ["events: job 'b' has VISIBLE at 0, it is visible from 60"],
    ),
    "never visible": (
        [row for row in GOOD if row != (60, 1, VISIBLE)],
        ["events: job 'b' has START at first, at 60", "events: job 'b' has no VISIBLE"],
    ),
    "start elsewhere": (
        [(60, *row[1:]) if row == (120, 3, START) else row for row in GOOD],
        ["events: time falls from 120 to 60",
         "events: job 'd' has START at 60, its segment starts at 120"],
    ),
    "no start": (
        [row for row in GOOD if row != (60, 1, START)],
        ["events: job 'b' has FINISH after VISIBLE, at 110",
         "events: job 'b' has no START for its segment [60, 110)",
         "records: job 'b' has first=60, not -1", "records: job 'b' has starts=1, not 0"],
    ),
    "end elsewhere": (
        [(100, *row[1:]) if row == (110, 1, FINISH) else row for row in GOOD],
        ["events: job 'b' has FINISH at 100, its segment ends at 110",
         "records: job 'b' has end=110, not 100"],
    ),
    "no end": (
        [row for row in GOOD if row != (110, 1, FINISH)],
        ["events: job 'b' has no end for its segment [60, 110)",
         "records: job 'b' has end=110, not -1"],
    ),
    "no segment": (
        [*GOOD, (360, 1, START), (360, 1, SUSPEND)],
        ["events: job 'b' has START after FINISH, at 360",
         "events: job 'b' has START at 360, but no segment there",
         "events: job 'b' has SUSPEND at 360, but no segment there",
         "records: job 'b' has starts=1, not 2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", EVENTS)
def test_broken_events_are_named(case: str) -> None:
    rows, messages = EVENTS[case]
    assert sorted(violations(with_events(hand_run(), rows))) == sorted(messages)


def test_a_completed_run_leaves_no_segment_open() -> None:
    open_ = hand_run(pieces(p5=Piece(4, 240, 360, {0: 1}, None)))
    assert "events: job 'e' has no end for its segment [240, 360)" in violations(open_)
    assert "records: job 'e' has not finished, the run is completed" in violations(open_)


# --- records -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "messages"),
    table("refused_values")["records"],
)  # fmt: skip
def test_broken_records_are_named(column: str, value: object, messages: list[str]) -> None:
    assert violations(with_record(hand_run(), **{column: {0: value}})) == messages


def test_what_a_stopped_run_leaves_is_checked() -> None:
    cut = (
        Piece(0, 0, 180, {0: 4, 1: 2}, None),
        *PIECES[1:3],
        Piece(3, 120, 180, {2: 1}, None),
        PIECES[4],
    )
    wrong = hand_run(
        cut,
        now=180, stop=Stop.INTERRUPTED, left={**LEFT, 0: 21, 3: 55, 4: 40},
    )  # fmt: skip
    assert violations(wrong) == [
        "service: job 'a' has left=21, with 180 s of progress of 200 s it is 20"
    ]
    over = hand_run((Piece(0, 0, 240, {0: 4, 1: 2}, None), *PIECES[1:]), stop=Stop.INTERRUPTED,
                    now=305, left={**LEFT, 0: -40})  # fmt: skip
    assert (
        "service: job 'a' has 240 s of progress and has not finished, its work is 200 s"
    ) in violations(over)


# --- instance, rejected jobs, numbers ------------------------------------------------------------


def test_a_run_of_another_instance_is_named() -> None:
    run = hand_run()
    fewer = replace(INSTANCE, jobs=INSTANCE.jobs[:4])
    found = violations(replace(run, instance=fewer))
    assert found == ["instance: the run's 5 jobs are not the instance's 4"]
    slotted = replace(INSTANCE, slot=60)
    assert violations(replace(run, instance=slotted)) == [
        f"instance: hash {run.instance_hash[:12]} is not the instance's own"
    ]
    larger = replace(INSTANCE, cluster=Cluster.of_sizes([4, 4, 4]))
    found = violations(replace(run, instance=larger))
    assert found[0] == "instance: nodes of (4, 4, 2) GPUs, not of (4, 4, 4)"
    lazy = replace(INSTANCE, jobs=[replace(INSTANCE.jobs[0], work=None), *INSTANCE.jobs[1:]])
    assert violations(replace(run, instance=lazy))[-1] == "instance: job 'a' has no work"
    assert violations(replace(run, users=("v", "u"))) == [
        "instance: users ('v', 'u') are not the instance's ('u', 'v')"
    ]
    assert violations(replace(run, user_weight=np.ones(2))) == [
        "instance: weights of users [1.0, 1.0] are not [1.0, 3.0]"
    ]


@pytest.mark.parametrize(
    ("rejected", "messages"),
    [
        ((), ["rejected: job 'c' is listed 0 times, its record says rejected=True"]),
        (REJECTED * 2, ["rejected: job 'c' is listed 2 times, its record says rejected=True"]),
        (((2, " "),), ["rejected: job 'c' is without a reason"]),
        (((9, "why"),), ["rejected: job[0]=9 is not a number below 5"]),
    ],
)
def test_rejected_jobs_are_listed_once_with_a_reason(
    rejected: tuple[tuple[int, str], ...], messages: list[str]
) -> None:
    assert violations(replace(hand_run(), rejected=rejected)) == messages


def test_numbers_out_of_range_are_named() -> None:
    run = hand_run()
    schedule = run.schedule
    assert violations(replace(run, schedule=replace(schedule, job=schedule.job + 1))) == [
        "schedule: job[4]=5 is not a number below 5",
        "schedule: job[5]=5 is not a number below 5",
    ]
    assert violations(replace(run, schedule=replace(schedule, node=schedule.node + 2))) == [
        f"schedule: node[{i}]={n + 2} is not a number below 3"
        for i, n in enumerate(schedule.node) if n
    ]  # fmt: skip
    log = run.events
    assert violations(replace(run, events=replace(log, kind=log.kind + 3)))[0] == (
        f"events: kind[{[row[2] for row in GOOD].index(FINISH)}]=7 is not a number below 7"
    )
    assert violations(replace(run, events=replace(log, job=log.job - 1)))[0] == (
        "events: job[0]=-1 is not a number below 5"
    )
    assert violations(replace(run, events=replace(log, time=log.time[1:]))) == [
        "events: columns differ in length"
    ]


def test_only_the_first_of_many_are_shown() -> None:
    many = Instance(Cluster.of_sizes([1]), [Job(id=f"j{i}", gpus=1, work=60) for i in range(30)])
    run = hand_run(tuple(Piece(i, 60 * i, 60 * i + 60, {0: 1}) for i in range(30)),
                   instance=many, rejected=(), left={}, now=1800)  # fmt: skip
    assert violations(run) == []
    found = violations(with_record(run, starts=dict.fromkeys(range(25), 9)))
    assert len(found) == 21
    assert found[19] == "records: job 'j19' has starts=9, not 1"
    assert found[20] == "records: 25 in all, the first 20 are shown"


# --- jobs that know their speeds -----------------------------------------------------------------

#: a is profiled, runs on two nodes at half its speed, and moves, which costs it 40 s; b is resized
KNOWN = Instance(
    Cluster.of_sizes([4, 4]),
    [
        DeadlineJob(id="a", gpus=4, work=200, split_speed=0.5, preemption_cost=40),
        DeadlineJob(id="b", gpus=2, work=100, scaling=0),
    ],
)
HALVES = (
    Piece(0, 0, 60, {0: 2}, PROFILED),
    Piece(0, 60, 180, {0: 2, 1: 2}, SUSPEND),  # 60 of 200 in 120 s
    Piece(0, 180, 360, {1: 4}),  # 40 overhead and the 140 left
    Piece(1, 180, 230, {0: 4}),  # 100 on twice its gang, twice as fast
)


def known(*changed: tuple[int, Piece]) -> Run:
    every = dict(enumerate(HALVES)) | dict(changed)
    return hand_run(tuple(every.values()), instance=KNOWN, rejected=(), left={})


def test_speeds_preemption_costs_and_profiling_pass_as_they_are_told() -> None:
    run = known()
    assert violations(run) == []
    assert run.records.starts.tolist() == [2, 1]
    assert run.records.first.tolist() == [0, 180]
    assert run.records.held.tolist() == [2 * 60 + 4 * 120 + 4 * 180, 4 * 50]


def ends(job: str, end: int, wanted: int, start: int, overhead: int, speed: str = "") -> list[str]:
    told = f"from {start} with {overhead} s of overhead{speed} it must end at {wanted}"
    return [f"completion: job {job!r} ends at {end}, {told}"]


@pytest.mark.parametrize(("changed", "messages"), RUNS["speeds"])
def test_what_speed_cost_or_profiling_do_not_allow_is_named(
    changed: dict[str, Any], messages: list[str]
) -> None:
    pieces = changed_pieces(HALVES, changed)
    run = hand_run(pieces, instance=KNOWN, rejected=(), left={})
    run = replace(run, now=max(360, int(run.schedule.end.max())))
    assert violations(run) == messages


def test_a_profiling_run_ends_as_one() -> None:
    rows = log_of(known())
    at = rows.index((60, 0, PROFILED))
    cut = with_events(known(), [*rows[:at], (60, 0, SUSPEND), *rows[at + 1 :]])
    assert "events: job 'a' has SUSPEND after PROFILE, at 60" in violations(cut)
    begun = rows.index((0, 0, PROFILE))
    hidden = with_events(known(), [*rows[:begun], (0, 0, START), *rows[begun + 1 :]])
    assert violations(hidden)[0] == "events: job 'a' has PROFILED after START, at 60"
    # and then it would have made 32 s of progress on two of its four GPUs, and 40 after it
    assert "from 180 with 40 s of overhead it must end at 348" in violations(hidden)[1]


def test_profiling_is_no_start() -> None:
    assert violations(with_record(known(), starts={0: 3})) == [
        "records: job 'a' has starts=3, not 2"
    ]


def test_jobs_of_other_kinds_hold_their_gang_unless_they_are_profiled() -> None:
    plain = Instance(KNOWN.cluster, [Job(id=j.id, gpus=j.gpus, work=j.work) for j in KNOWN.jobs])
    run = hand_run(HALVES, instance=plain, rejected=(), left={})
    found = violations(run)
    assert found[0] == "gang: job 'b' holds 4 GPUs from 180, its gang is 2"
    assert found[1].startswith("placement: job 'a' of 4 GPUs has {0: 2, 1: 2} from 60")
    one = Instance(plain.cluster, plain.jobs[:1])
    ok = (HALVES[0], Piece(0, 60, 260, {1: 4}))
    assert violations(hand_run(ok, instance=one, rejected=(), left={})) == []


def test_a_job_that_is_profiled_where_it_was_has_not_renewed() -> None:
    whole = {0: 4}
    run = known(
        (0, Piece(0, 0, 60, whole, PROFILED)),
        (1, Piece(0, 60, 180, whole, SUSPEND)),
        (2, Piece(0, 180, 240, whole, PROFILED)),
        (3, Piece(0, 240, 360, whole)),  # 40 overhead and the 80 left
    )
    assert [line for line in violations(run) if "'a'" in line] == []


# --- several GPU models --------------------------------------------------------------------------

#: a runs at 1 on k80 and 2.5 on v100 and moves from one to the other, b only on v100, c is pinned
MIXED = Instance(
    Cluster([Node("n0", 4, "k80"), Node("n1", 2, "v100"), Node("n2", 2, "v100")]),
    [
        Job(id="a", gpus=2, work=260, speeds={"k80": 1.0, "v100": 2.5}),
        Job(id="b", gpus=2, work=100, speeds={"v100": 1 / 3}),
        Job(id="c", gpus=1, work=50, pin="k80"),
    ],
)
TWO = (
    Piece(0, 0, 60, {0: 2}, SUSPEND),
    Piece(0, 60, 120, {1: 2}, SUSPEND),  # 30 s for the move, 75 s of work
    Piece(0, 180, 240, {1: 2}),  # 10 s of overhead, 125 s of work
    Piece(1, 0, 301, {2: 2}),
    Piece(2, 0, 50, {0: 1}),
)
MIXED_END = 600
MOVING = Rules(round_length=60, lease=120, overhead=10, migration=30, patience=None)


def mixed(*changed: tuple[int, Piece], rules: Rules = MOVING) -> list[str]:
    pieces = [dict(changed).get(i, piece) for i, piece in enumerate(TWO)]
    run = hand_run(tuple(pieces), instance=MIXED, rules=rules, rejected=(), left={}, now=MIXED_END)
    return violations(run)


def test_a_correct_run_on_several_models_passes() -> None:
    assert mixed() == []


@pytest.mark.parametrize(("changed", "messages"), RUNS["models"])
def test_what_a_model_does_not_allow_is_named(changed: dict[str, Any], messages: list[str]) -> None:
    assert mixed(*enumerate(changed_pieces(TWO, changed))) == messages


def test_a_job_is_not_on_a_model_that_its_speeds_do_not_name() -> None:
    found = mixed((3, Piece(1, 60, 361, {0: 2})))
    assert found[0].startswith("model: job 'b' is on GPUs of 'k80' from 60, its speeds are {'v100'")


def test_without_a_migration_a_move_costs_the_overhead() -> None:
    found = mixed(rules=Rules(round_length=60, lease=120, overhead=10, patience=None))
    assert found == ends("a", 240, 220, 180, 10, " and speed 2.5")
