from crowds import crowd
from few import each_seed
from gangsched.analysis.driving.check import violations
from gangsched.instances import Instance, Job
from gangsched.solvers import ServerFillingSrpt
from gangsched.solvers.policy import Decision, Preempts, State
from reference_driver import drive

SIZES = [(8,), (4, 4), (2, 2, 2, 2)]


def as_published(instance: Instance[Job], tau: int) -> list[int]:
    """Completion times on a pool, round by round, where a resumption costs nothing."""
    jobs, left = instance.jobs, [job.work for job in instance.jobs]
    end, now = [-1] * len(jobs), 0
    while -1 in end:
        present = [j for j in range(len(jobs)) if jobs[j].release <= now and left[j]]
        present.sort(key=lambda j: (left[j] * jobs[j].gpus, jobs[j].release, j))
        total, prefix = 0, []
        for j in present:
            if total < instance.cluster.gpus:
                prefix.append(j)
                total += jobs[j].gpus
        prefix.sort(key=lambda j: -jobs[j].gpus)
        room = instance.cluster.gpus
        for j in prefix:
            if jobs[j].gpus <= room:
                room -= jobs[j].gpus
                done = min(tau, left[j])
                left[j] -= done
                if not left[j]:
                    end[j] = now + done
        now += tau
    return end


@each_seed(range(8))
def test_it_is_the_published_one_on_powers_of_two(seed: int) -> None:
    instance = crowd([5, seed], SIZES[seed % 3], 25, gangs=(1, 1, 2, 4, 8))
    run = drive(instance, ServerFillingSrpt(), round_length=20, overhead=0)
    assert violations(run, preempts=Preempts.ALWAYS) == []
    assert run.records.end.tolist() == as_published(instance, 20)


class Watched(ServerFillingSrpt):
    """Fails where GPUs idle, a round after somebody came or went, though jobs could fill them."""

    rule = None  # type: ignore[assignment]

    def decide(self, state: State) -> Decision:
        jobs = state.candidates
        held = state.held_gpus[jobs].sum()
        arrived = (state.visible[jobs] == state.now).any()
        if not arrived and state.gpus[jobs].sum() >= 8 and not self.ended(state):
            assert held == 8
        return super().decide(state)

    @staticmethod
    def ended(state: State) -> bool:
        return bool((state.end > state.now - state.rules.round_length).any())


@each_seed(range(8))
def test_no_gpu_idles_where_gangs_are_powers_of_two(seed: int) -> None:
    instance = crowd([5, seed], SIZES[seed % 3], 25, gangs=(1, 1, 2, 4, 8))
    drive(instance, Watched(), skip=False)
