"""A user's jobs alone on its quota, second by second of what changes: for the verifier.

Plain Python, which counts exactly; compiled where all numbers are known to fit 64 bits.
"""

from __future__ import annotations

from typing import Any

from ...instances.compiled import tiered


def alone_flow(releases: Any, rates: Any, left: Any, most: Any) -> Any:
    """Sum of flow times of jobs by release; `left` is their areas, and is used up.

    `rates` are the gangs and `most` the quota in the unit of GPUs that makes all of them whole. The
    queue is always by (area left, place): those at its front have their gangs, the last of them
    what is left of the quota, until one arrives or is complete.
    """
    queue = [0][:0]
    come, now, total = 0, releases[0], most - most
    while come < len(releases) or len(queue) > 0:
        if len(queue) == 0:
            now = releases[come]
        while come < len(releases) and releases[come] <= now:
            low, high = 0, len(queue)
            while low < high:
                middle = (low + high) // 2
                if left[queue[middle]] <= left[come]:
                    low = middle + 1
                else:
                    high = middle
            queue.insert(low, come)
            come += 1
        served, room = 0, most
        step = -1
        while served < len(queue) and room > 0:
            rate = min(rates[queue[served]], room)
            needed = -(-left[queue[served]] // rate)
            if step < 0 or needed < step:
                step = needed
            room -= rate
            served += 1
        if come < len(releases):
            step = min(step, releases[come] - now)
        now += step
        kept, room = 0, most
        for i in range(served):
            job = queue[i]
            rate = min(rates[job], room)
            room -= rate
            left[job] -= rate * step
            if left[job] <= 0:
                total += now - releases[job]
                continue
            at = kept
            while at > 0 and (
                left[queue[at - 1]] > left[job]
                or (left[queue[at - 1]] == left[job] and queue[at - 1] > job)
            ):
                queue[at] = queue[at - 1]
                at -= 1
            queue[at] = job
            kept += 1
        for _ in range(served - kept):
            queue.pop(kept)
    return total


compiled_alone_flow = tiered(seconds=2, most=20_000, allocates=True)(alone_flow)
