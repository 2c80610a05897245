"""Leave so many mutants in a session of cosmic-ray, each at another place, drawn by a seed.

    cosmic-ray init cosmic-ray.toml mutants.sqlite
    python tests/draw_mutants.py mutants.sqlite --count 40 --seed 1
    cosmic-ray exec cosmic-ray.toml mutants.sqlite
    cr-report mutants.sqlite | less       # and cr-rate: the part that survived

Exec mutates files in place, and again what is left when it was stopped: work in a clone.
"""

import argparse
import random
import re

from cosmic_ray.work_db import WorkDB, use_db

#: types in annotations are joined by |, and a function without its decorator is compiled in time
LEFT_OUT = re.compile(r"core/(ReplaceBinaryOperator_BitOr|RemoveDecorator)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("session")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    with use_db(given.session, WorkDB.Mode.open) as db:
        places: dict[tuple[str, tuple[int, int]], dict[str, object]] = {}
        for item in db.work_items:
            (spec,) = item.mutations
            if not LEFT_OUT.match(spec.operator_name):
                place = str(spec.module_path), spec.start_pos
                places.setdefault(place, {})[f"{spec.operator_name} {spec.occurrence}"] = item
        rng = random.Random(given.seed)
        drawn = []
        for module, start in sorted(rng.sample(sorted(places), given.count)):
            mutants = places[module, start]
            name = rng.choice(sorted(mutants))
            drawn.append(mutants[name])
            print(f"{module}:{start[0]}: {name}")
        db.clear()
        db.add_work_items(drawn)
    print(f"{given.count} of {len(places):,} places, seed {given.seed}")


if __name__ == "__main__":
    main()
