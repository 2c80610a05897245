"""Where problems and jobs come from: files, named instances, seeded settings, traces."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from itertools import islice
from json import loads
from pathlib import Path
from typing import Any

from .. import screen
from ..formulations.problem import summary_of
from ..instances.display import in_doubt
from ..instances.io import header
from ..instances.shipped import shipped
from ..registry import PROBLEMS, lookup
from ..screen import (
    ReaderChoice,
    cluster_of,
    count_of,
    only,
    progress_line,
    read_log,
    reader_parameters,
    shown,
)  # fmt: skip

SCENARIO = "scenario"
#: names that are read with `--reader scenario`, and what they mean
SCENARIOS: Mapping[str, str] = shipped("gangsched", "commands")["scenarios"]
#: tables of speeds by name, in :mod:`gangsched.instances.heterogeneous`
SPEEDS: Mapping[str, str] = {"table1": "TABLE1"}
MOST_USERS = 20  # whose families are listed
MOST_LISTED = 5  # rejected jobs on the screen; the report has more, the JSON file all


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A problem or an instance, and how it came about."""

    name: str
    subject: Any
    stem: str = ""  #: of the problem
    notes: tuple[str, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    bound: Any = None  #: the best that is known, where the library has one
    times: Any = ()  #: when its jobs began and ended by the log
    drawn: str = ""  #: which seed drew what
    left_out: int = 0  #: jobs of the log that options leave out
    doubts: tuple[str, ...] = ()  #: what had to be assumed to read the log
    replaced: str = ""  #: which times of the log were replaced

    @property
    def title(self) -> str:
        """Its name and its size."""
        text = f"{self.name}: {summary_of(self.subject)}" + " (in doubt)" * bool(self.doubts)
        return f"{text}; {self.replaced}" if self.replaced else text

    @property
    def about(self) -> dict[str, Any]:
        """What reports and files say of it."""
        names = "title", "notes", "rejected", "drawn"
        own = {name: getattr(self, name) for name in names}
        return {**own, **({"left_out": self.left_out} if self.left_out else {})}

    def save(self, path: Path, kind: str, found: Any, **more: Any) -> None:
        """Write what came out as JSON, and where it came from."""
        screen.write_json(path, {**header(kind), **found.to_dict(), **more, "source": self.about})


def listed(reasons: Sequence[str]) -> list[str]:
    """Return the first reasons why jobs were rejected, and how many more there are."""
    more = len(reasons) - MOST_LISTED
    return [*reasons[:MOST_LISTED], *([f"... and {more:,} more rejected jobs"] * (more > 0))]


# --- problems ------------------------------------------------------------------------------------


def load_problem(name: str, problem: str | None) -> Source:
    """An instance or problem file, or a named instance."""
    from ..instances import library

    path = Path(name)
    if path.is_file() or (path.exists() and name not in library.names()):
        return _from_file(name, problem)
    return from_library(name, problem)


def _from_file(path: str, stem: str | None) -> Source:
    from ..formulations.io import problem_from_dict
    from ..instances.io import check_header, instance_from_dict, read_json

    try:
        data = read_json(path)
    except ValueError as error:
        raise ValueError(f"{error} (a trace file needs compare --reader)") from None
    try:
        if check_header(data, "instance", "problem") == "problem":
            problem = problem_from_dict(data)
            known = _same_problem(path, str(data.get("problem")), stem)
        else:
            instance = instance_from_dict(data)
            known = _stem(stem)
            problem = PROBLEMS[known].make(instance)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    return Source(name=Path(path).name, subject=problem, stem=known)


def from_library(name: str, stem: str | None) -> Source:
    """Return a named instance, with the best that is known of it."""
    from ..instances import library
    from ..solvers import Bound
    from ..submissions import problem_of

    if name not in library.names():
        raise ValueError(
            f"{name!r} is neither a file nor a named instance; `gangsched library list` shows the "
            "names"
        )
    entry = library.entry(name)
    known = _same_problem(name, entry.formulation, stem)
    problem = problem_of(entry)
    best = f"best known: {shown(entry.objective)} ({entry.solver}), {best_known(entry)}"
    parts = "value", "method", "certificate"
    bound = None if entry.proof is None else Bound(*(entry.proof[part] for part in parts))
    return Source(
        name=name,
        subject=problem,
        stem=known,
        notes=(entry.description, best),
        bound=bound,
    )


def best_known(entry: Any) -> str:
    """The library's bound in words; "claimed" where it has no certificate."""
    from ..instances.library import index_row

    return best_of(index_row(entry))


def best_of(row: Mapping[str, Any]) -> str:
    """The best known bound of an instance, in words, from its row of the index."""
    from ..instances.library import meets

    text = f"bound {shown(row['bound'])}"
    text = "optimal" if meets(row["objective"], row["bound"]) else text
    return text if row["certified"] else f"{text} (claimed)"


def _from_trace(path: str, stem: str, reader: ReaderChoice, **options: Any) -> Source:
    entry = PROBLEMS[stem]
    if entry.convert is None:
        raise ValueError(f"problem {stem!r} takes no traces: give a file or a --setting")
    trace = read_log(path, reader, options.get("cluster"))
    problem, made = entry.convert(trace, **options)
    seed = options.get("seed")
    doubts = tuple(dict.fromkeys((*trace.doubts, *made.times.doubts)))
    return Source(
        name=Path(path).name,
        subject=problem,
        stem=stem,
        notes=(*filter(None, [in_doubt(doubts)]), str(trace.report), *made.notes),
        doubts=doubts,
        rejected=made.rejected,
        drawn=f"{seed} of what the log lacks" if made.replaced else "",
        replaced=made.replaced,
        left_out=_left_out(trace),
    )


def _left_out(trace: Any) -> int:
    """How many jobs of a log options have left out."""
    from ..instances.convert import LEFT_OUT

    skipped = trace.report.skipped.items()
    return sum(count for reason, count in skipped if reason.startswith(LEFT_OUT))


def _stem(stem: str | None) -> str:
    if stem is None:
        raise ValueError(f"--problem is missing, one of {', '.join(PROBLEMS)}")
    return lookup("problem", PROBLEMS, stem)


def _same_problem(name: str, own: str, wanted: str | None) -> str:
    own = lookup("problem", PROBLEMS, own)
    if wanted is not None and lookup("problem", PROBLEMS, wanted) != own:
        raise ValueError(f"{name!r} is an instance of {own}, not of {wanted}")
    return own


def select_problem(
    source: str | None, problem: str | None, setting: str | None, seed: int, **options: Any
) -> Source:
    """The source that the options of `compare` mean; `options` by their name on the screen."""
    from ..instances import library

    if (source is None) == (setting is None):
        raise ValueError("give either a file or named instance, or --setting")
    if setting is not None:
        only("--setting", options, ("nodes", "jobs", "utility"))
        stem = _stem(problem)
        settings = PROBLEMS[stem].settings
        key = lookup("setting", settings, setting)
        sizes = {"nodes": count_of(options["nodes"]), "jobs": options["jobs"]}
        only(f"--setting {key}", {"utility": options["utility"]}, settings[key].arguments)
        made = settings[key](seed=seed, **sizes, utility=options["utility"])
        drawn = f"{seed} of the instance"
        return Source(name=f"{key}, seed {seed}", subject=made, stem=stem, drawn=drawn)
    assert source is not None
    if options["reader"] is None and _is_log(source):
        options["reader"] = "auto"
    if options["reader"] is None and not (Path(source).exists() or source in library.names()):
        return load_problem(source, problem)  # which says so
    if options["reader"] is None:
        only("an instance; a trace needs --reader", options, ())
        return load_problem(source, problem)
    stem = _stem(problem)
    left_out = {"without": options["without"] or (), "without_users": options["without-users"]}
    choice = ReaderChoice(options["reader"], columns=options["columns"], **left_out)
    how: dict[str, Any] = {"reader": choice, "seed": seed}
    convert = PROBLEMS[stem].convert
    if convert is not None and "cluster" not in signature(convert).parameters:
        allowed = "reader", "columns", "without", "without-users", "nodes", "first", "utility"
        only(f"traces of {stem}", options, allowed)
        sizes = {"nodes": count_of(options["nodes"]), "jobs": options["first"]}
        return _from_trace(source, stem, **how, **sizes, utility=options["utility"] or "linear")
    only(f"traces of {stem}", {"utility": options["utility"]}, ())
    room = {name: options[name] for name in ("nodes", "gpus-per-node", "cluster")}
    if room["cluster"] is not None:
        only("--cluster", room, ("cluster",))
    if options["jobs"] is not None:
        only("--jobs", {"first": options["first"]}, ())
    pick = "sample" if options["first"] is None else "first"
    count = options["jobs"] if options["first"] is None else options["first"]
    cluster = cluster_of(*room.values())
    return _from_trace(source, stem, **how, cluster=cluster, jobs=count, pick=pick)


# --- jobs of a replay ----------------------------------------------------------------------------


def select_jobs(
    trace: str,
    reader: ReaderChoice,
    seed: int,
    first: int | None,
    room: Mapping[str, Any],
    part: Mapping[str, Any],
    cluster: Any = None,
) -> Source:
    """The jobs that the options of `replay` mean; `room` and `part` by their names there.

    A cluster that is there already stands for `room`.
    """
    if reader.name == "auto" and _is_saved(trace):
        others = {**room, **part, "columns": reader.columns, **reader.left_out}
        others["reader-option"] = reader.options or None
        only("a saved instance or problem", others, ())
        return _saved(trace, first)
    if room["cluster"] is not None:
        only("--cluster", room, ("cluster",))
    if reader.name == SCENARIO:
        only("--reader scenario", {**part, "columns": reader.columns, **reader.left_out}, ())
        return _drawn(trace, reader.options, room, first, seed)
    speeds = part["speeds"]
    by_file = speeds is not None and Path(speeds).is_file()
    if by_file:
        reader = _reading_speeds(trace, reader, speeds)
    elif speeds is not None:
        speeds = _table(speeds)
    cluster = cluster or cluster_of(*room.values())
    source = _read(trace, reader, cluster, first, part)
    return source if speeds is None or by_file else _with_speeds(source, speeds, seed)


def _table(name: str) -> str:
    """The table of speeds of this name."""
    try:
        return lookup("speeds", SPEEDS, name)
    except ValueError as error:
        raise ValueError(f"{error}, and there is no such file") from None


def _reading_speeds(trace: str, reader: ReaderChoice, path: str) -> ReaderChoice:
    """The reader with a file of speeds, which one that names types of jobs takes."""
    from ..instances.traces import recognise

    name = recognise(trace).reader if reader.name == "auto" else reader.name
    if "speeds" not in reader_parameters(name):
        raise ValueError(f"--speeds {path}: reader {name!r} names no types of jobs, gavel does")
    return replace(reader, name=name, options=(*reader.options, f"speeds={path}"))


def _read(
    path: str, reader: ReaderChoice, cluster: Any, first: int | None, part: Mapping[str, Any]
) -> Source:
    """The jobs of a trace that the cluster can run."""
    from ..instances.convert import to_instance

    loaded = read_log(path, reader, cluster)
    window = _time(loaded, "from", part["from"]), _time(loaded, "until", part["until"])
    weights = _weights(loaded, part["weights"])
    made = to_instance(loaded, cluster, window=window, jobs=first, weights=weights)
    instance, notes = made.instance, (str(loaded.report), *made.notes)
    if not instance.jobs:
        more = [reason for _, reason in made.rejected[:1]]
        raise ValueError(f"{path}: no job can be run: {'; '.join([str(loaded.report), *more])}")
    return Source(
        name=Path(path).name,
        subject=instance,
        notes=notes,
        rejected=made.rejected,
        left_out=_left_out(loaded),
        times=made.times,
        doubts=made.times.doubts,
    )


def _with_speeds(source: Source, table: str, seed: int) -> Source:
    """The same jobs with speeds of a table, drawn by user."""
    from ..instances import heterogeneous
    from ..instances.generate import offered_load

    speeds = getattr(heterogeneous, SPEEDS[table])
    instance = heterogeneous.with_speeds(source.subject, speeds, seed=seed)
    users = sorted({job.user for job in instance.jobs})
    drawn = (f"{user} {heterogeneous.family_of(user, speeds, seed=seed)}" for user in users)
    listed = ", ".join(islice(drawn, MOST_USERS)) + ", ..." * (len(users) > MOST_USERS)
    load = offered_load(instance)
    note = (
        f"speeds of {table}, a family for each user, drawn with seed {seed}: {listed}; the load "
        f"is {load:.2f} of the GPUs' time up to the last arrival, at their mean speed"
    )
    notes, which = (*source.notes, note), f"{seed} of the users' families"
    return replace(source, subject=instance, notes=notes, drawn=which)


def _drawn(
    name: str, options: Sequence[str], room: Mapping[str, Any], first: int | None, seed: int
) -> Source:
    """The first jobs of a scenario."""
    with progress_line(f"drawing {name}"):
        made = _scenario(name, options, room, seed)
    note = f"synthetic jobs, drawn with seed {seed}: {getattr(made, 'instance', made).name}"
    jobs = _first_jobs(f"scenario {name}", made, first)
    return Source(name=name, subject=jobs, notes=(note,), drawn=f"{seed} of the jobs")


def _first_jobs(name: str, subject: Any, first: int | None) -> Any:
    """The first jobs of an instance, or of a problem; refuse those without any."""
    from ..instances.model import among_themselves

    instance = getattr(subject, "instance", subject)
    if not instance.jobs[:first]:
        raise ValueError(f"{name}: it has no jobs")
    if first is None:
        return subject
    kept = replace(instance, jobs=among_themselves(instance.jobs[:first], instance.jobs)[0])
    return kept if subject is instance else replace(subject, instance=kept)


def _is_log(path: str) -> bool:
    """Whether a file is no instance or problem: a table, or JSON of records without our header."""
    from ..instances.io import read_bytes, read_json

    if not Path(path).is_file():
        return False
    if ".json" not in Path(path).suffixes and not read_bytes(path, 1).startswith(b"{"):
        return True
    try:
        data = read_json(path)
    except ValueError:
        return _is_lines(path)
    return "format" not in data if isinstance(data, dict) else bool(data) and type(data[0]) is dict


def _is_lines(path: str) -> bool:
    """Whether a file has several lines, the first of which is a whole object in JSON."""
    from ..instances.io import text_lines

    try:
        first, *more = islice(text_lines(path), 2)
        return bool(more) and isinstance(loads(first), dict)
    except ValueError:
        return False


def _is_saved(path: str) -> bool:
    """Whether a file is one of the project's own, as `gangsched.io.save` writes them."""
    from ..instances.io import FORMAT, read_bytes

    if not Path(path).is_file() or not read_bytes(path, 1).startswith(b"{"):
        return False
    return re.search(rf'"format"\s*:\s*"{FORMAT}"'.encode(), read_bytes(path)) is not None


def _saved(path: str, first: int | None) -> Source:
    """The jobs of a saved instance, or those of a saved problem of jobs with utilities."""
    from ..formulations.irmp.problem import Irmp
    from ..instances import Instance
    from ..io import load

    found = load(path)
    if not isinstance(found, (Instance, Irmp)):
        text = f"{path}: a {type(found).__name__} is not replayed, an instance or IRMP is"
        raise ValueError(text)
    return Source(name=Path(path).name, subject=_first_jobs(path, found, first))


def _scenario(name: str, options: Sequence[str], room: Mapping[str, Any], seed: int) -> Any:
    """A scenario by name; its own cluster where none is given."""
    from ..formulations.irmp.problem import paper_problem
    from ..instances.deadlines import helios_like_workload, philly_like_workload, testbed_workload

    if law := re.fullmatch(r"W_(LINEAR|CONVEX)", name, re.IGNORECASE):
        only(f"scenario {name}", room, ("nodes",))
        servers = {} if room["nodes"] is None else {"servers": count_of(room["nodes"])}
        sizes = _sizes(options, {"jobs": int, "users": int})
        return paper_problem(utility=law[1].lower(), seed=seed, **servers, **sizes)  # type: ignore[arg-type]
    given = any(value is not None for value in room.values())
    cluster = cluster_of(*room.values()) if given else None
    if testbed := re.fullmatch(r"T\[?(\d{1,6})\]?", name, re.IGNORECASE | re.ASCII):
        if options:
            raise ValueError(f"--reader-option: scenario {name!r} takes none")
        made = testbed_workload(int(testbed[1]), seed=seed)
        return made if cluster is None else replace(made, cluster=cluster)
    family = re.fullmatch(r"([HP])_(SLO|MIX1|MIX2)", name, re.IGNORECASE)
    if family is None:
        known = "T<jobs>, H_SLO, H_MIX1, H_MIX2, P_SLO, P_MIX1, P_MIX2, W_LINEAR, W_CONVEX"
        raise ValueError(f"scenario {name!r} is not one of {known}")
    draw = helios_like_workload if family[1].upper() == "H" else philly_like_workload
    return draw(cluster, family=family[2].lower(), seed=seed, **_sizes(options))  # type: ignore[arg-type]


#: options of scenarios: how many jobs, in how many days, at which density
SIZES: Mapping[str, Callable[[str], Any]] = {"jobs": int, "days": int, "density": float}


def _sizes(
    options: Sequence[str], kinds: Mapping[str, Callable[[str], Any]] = SIZES
) -> dict[str, Any]:
    """The options of a scenario."""
    given: dict[str, Any] = {}
    for text in options:
        option, sign, value = (part.strip() for part in text.partition("="))
        if not sign or option not in kinds or option in given:
            known = ", ".join(f"{name}=" for name in kinds)
            raise ValueError(f"--reader-option: {text!r} is not one of {known}, each once")
        try:
            given[option] = kinds[option](value)
        except ValueError:
            raise ValueError(f"--reader-option: {option}={value!r} is not a number") from None
    return given


def _time(trace: Any, name: str, text: str | None) -> int | None:
    """A time of the trace, as seconds."""
    from ..instances.convert import between

    if text is None:
        return None
    if re.fullmatch(r"\d{1,15}", text, re.ASCII):
        return int(text)
    try:
        return between(trace, text, None)[0]
    except ValueError as error:
        raise ValueError(f"--{name}: {error}") from None


def _weights(trace: Any, text: str | None) -> Any:
    """What :func:`to_instance` takes as weights."""
    from ..instances.traces import read_vc_sizes

    own = {user.id: user.weight for user in trace.users}
    if text is None:
        return own if set(own.values()) - {1.0} else "requested"
    if text in ("requested", "equal"):
        return text
    if text == "trace":
        return own
    day = None if trace.origin is None else trace.origin[:10]
    sizes = {user.id: user.weight for user in read_vc_sizes(text, date=day)}
    unknown = [job for job in trace.jobs if job.user not in sizes]
    if unknown:
        places = ", ".join(f"{job.id!r} of {job.user!r}" for job in unknown[:3])
        more = ", ..." if len(unknown) > 3 else ""
        raise ValueError(f"{text}: {len(unknown):,} jobs of users without a size: {places}{more}")
    return sizes
