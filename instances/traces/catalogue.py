"""Public job traces: where they come from, under which licence, and which reader reads them.

Nothing of them is part of this project. A hash is of the unpacked file, so that it does not matter
how a file is compressed; those of files that were held and counted here come with their rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..io import read_bytes

__all__ = ["TRACES", "KnownFile", "KnownTrace", "known_files"]


class KnownFile(NamedTuple):
    """A file of a public trace, by its hash.

    Parameters
    ----------
    name : str
        In the place that the trace comes from.
    rows : int or None
        How many it has, one a job; None where it was not counted here.
    sha256 : str
        Of the unpacked file, empty where it is not known.
    blob : str
        The beginning of its name in git, which is a SHA-1, where that is known.
    missing : str
        Which rows of the published file are not in the one with this hash.
    """

    name: str
    rows: int | None = None
    sha256: str = ""
    blob: str = ""
    missing: str = ""

    def __str__(self) -> str:
        parts = [] if self.rows is None else [f"{self.rows:,} rows"]
        parts += [f"SHA-256 {self.sha256}"] if self.sha256 else []
        parts += [f"git blob {self.blob}..."] if self.blob else []
        parts += [f"without {self.missing}"] if self.missing else []
        return f"{self.name}: {', '.join(parts)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTrace:
    """A public trace.

    Parameters
    ----------
    name, title : str
    jobs : str
        How many, in words.
    licence : str
        Of the data.
    source : str
        Address.
    download : str
        What to get from there.
    reader : str
        Name, and the options that it needs; empty where none reads it.
    remark : str
        What one has to know before trusting a number.
    files : tuple of KnownFile
    """

    name: str
    title: str
    jobs: str
    licence: str
    source: str
    download: str
    reader: str
    remark: str = ""
    files: tuple[KnownFile, ...] = ()

    @property
    def facts(self) -> Iterator[tuple[str, str]]:
        """Label and text of what is known, in the order of reading."""
        yield "jobs", self.jobs
        yield "licence", self.licence
        yield "from", self.source
        yield "download", self.download
        yield "read with", f"--reader {self.reader}" if self.reader else "no reader"
        if self.remark:
            yield "note", self.remark


def _held(lines: str) -> tuple[KnownFile, ...]:
    """Whole files that were held here: hash, rows and name in each line."""
    rows = (line.split() for line in lines.strip().splitlines())
    return tuple(KnownFile(name, int(count), sha256) for sha256, count, name in rows)


PAI = "https://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/pai_task_table.tar.gz"
UNTRIED = "The reader follows the documentation and was not tried on these rows."

TRACES: tuple[KnownTrace, ...] = (
    KnownTrace(
        name="philly",
        title="Microsoft Philly, 2017, as published",
        jobs="117,325 of every final state",
        licence="CC-BY-4.0",
        source="https://github.com/msr-fiddle/philly-traces",
        download="trace-data.tar.gz (Git LFS, 1 GB), in it cluster_job_log",
        reader="philly-json",
        remark="Jeon et al., ATC 2019. Of the log only the example of its README was seen here.",
    ),
    KnownTrace(
        name="philly-passed",
        title="Microsoft Philly, 2017, the passed jobs as a table",
        jobs="82,247 of the 117,325 of the log",
        licence="CC-BY-4.0 (data of Philly); the repository states none",
        source="https://github.com/siasosp23/artifacts",
        download="sia-simulator/traces/philly.csv (commit aaf7a0d); the same bytes are in "
        "pkusys/ElasticFlow, msr-fiddle/blox and petuum/adaptdl (branch osdi21-artifact)",
        reader="philly-csv",
        remark="Passed jobs only, 70 % of the log: killed and failed ones are missing, so that "
        "there are too many jobs of one GPU and too few long ones (77 % run for less than an hour; "
        "of all jobs 71.6 %, by Table 1 of Ye et al., TPDS 2022). No user, state, id or start.",
        files=(
            KnownFile("philly.csv", 82_247, blob="6f73f02"),
            KnownFile(
                "philly.csv",
                69_089,
                "8ead489f7bf955683d3874b7f25cf37c1a17bc0fef84e4a09250597c9001965b",
                missing="jobs submitted from 2017-11-06 to 2017-11-19, and those of the virtual "
                "clusters 7f04ca and e13805",
            ),
        ),
    ),
    KnownTrace(
        name="philly-attempts",
        title="Microsoft Philly, 2017, passed jobs of four GPUs and more with every attempt",
        jobs="3,034",
        licence="CC-BY-4.0",
        source="https://github.com/marwage/philly-traces",
        download="analysis/jobs.json (commit b741616; deleted later)",
        reader="",
        files=(
            KnownFile(
                "jobs.json",
                1_938,
                "2131ef013632e005fd2d224dc0c18db98f73d120b1f052c0c9fc25731e928fac",
                missing="1,096 of the published jobs, by the rule for philly-passed",
            ),
        ),
    ),
    KnownTrace(
        name="gavel-philly",
        title="Philly by virtual cluster, in Gavel's format",
        jobs="at most 2,000 a virtual cluster, of every final state, of 20 minutes or more",
        licence="MIT (data of Philly: CC-BY-4.0)",
        source="https://github.com/stanford-futuredata/gavel",
        download="scheduler/traces/msr (commit c4fa400)",
        reader="gavel --reader-option steps_per_second=speeds.csv",
        remark="Arrivals and gang sizes are Philly's; job types and steps were drawn. The speeds "
        "that turn steps into run times are older than the published simulation_throughputs.json.",
        files=(
            KnownFile(
                "seed=0/23dbec.trace",
                9,
                "5e77c69605651395c7610f85678205709009d401a299ae16b5af47f7f04c2714",
            ),
            KnownFile(
                "seed=0/6214e9.trace",
                2000,
                "4deab594cec0d1400347e2c1e58998c197075b084b7473990d561c0e838f662d",
            ),
            KnownFile(
                "seed=0/6c71a0.trace",
                2000,
                "dfd3ae4c9b4d886b2146ed41b6adc9f0105e21ecda3bff33459844c232b18f0e",
            ),
            KnownFile(
                "seed=0/795a4c.trace",
                3,
                "52a95b1f5b9bda0bd0bec1fd35d3ef04dd50d6da091b99bfed7296bc13cabab8",
            ),
            KnownFile(
                "seed=0/b436b2.trace",
                2000,
                "36d7d8e239846e7d7423b729ae174cc5e3f42bde46245ae08650da8800887317",
            ),
            KnownFile(
                "seed=0/ee9e8c.trace",
                2000,
                "ce629ae806113d60daa51dd9423030333a1abf45ee2a51c1013cdfdc49782a5c",
            ),
            KnownFile(
                "seed=1/ee9e8c.trace",
                2000,
                "997067948676704093cdb5d42ce0f98a2eb6937b1039d1c5e5bbcdafe1ea5091",
            ),
        ),
    ),
    KnownTrace(
        name="gavel-physical",
        title="Gavel's physical cluster",
        jobs="15, 96, 100 and 20, synthetic",
        licence="MIT",
        source="https://github.com/stanford-futuredata/gavel",
        download="scheduler/traces/physical_cluster and scheduler/simulation_throughputs.json "
        "(commit c4fa400)",
        reader="gavel --reader-option steps_per_second=simulation_throughputs.json",
        files=(
            KnownFile(
                "artifact_evaluation.trace",
                15,
                "aa267474f78f61ef65ec26585957e7737e0f2f8cba7e5425d7e52e26146d15b6",
            ),
            KnownFile(
                "max_min_fairness.trace",
                96,
                "dc13589c23c7b77d37d3d1014ff499e0c1ffca2959ce35d0e4ce70b71247424b",
            ),
            KnownFile(
                "minimize_makespan.trace",
                100,
                "b00befc3fc2a62c1776fd70d978065e3fb1ae75fd06b37557f2425fe51556bc5",
            ),
            KnownFile(
                "small_test.trace",
                20,
                "1a216a80d1f40bc2b88a3edb5f14ff687560024c085a6392613618a47cbe54dc",
            ),
        ),
    ),
    KnownTrace(
        name="chronus",
        title="Workloads of Chronus, drawn from Philly, with deadlines",
        jobs="30,940 each",
        licence="MIT",
        source="https://github.com/S-Lab-System-Group/ChronusArtifact",
        download="code/data/trace_job_Philly_SLO.csv and the others beside it (commit bc7e15f)",
        reader="chronus",
        remark="Rows are draws with replacement from one pool of 13,465 Philly jobs, of 20 minutes "
        "to 3 days; users and models were drawn evenly at random.",
        files=(
            KnownFile(
                "trace_job_Philly_MIX2.csv",
                30940,
                "4eb087e8f1a5d85ee27f8e8375f3912af643fbacb81d121d746950401426148f",
            ),
            KnownFile(
                "trace_job_Philly_SLO.csv",
                30940,
                "180fd7db3eeabe5df705c25259fcec972be2ba7b483887e26ca17e22d96b9f3e",
            ),
        ),
    ),
    KnownTrace(
        name="itp",
        title="Microsoft ITP, ten clusters, 2021",
        jobs="69,351",
        licence="MIT",
        source="https://github.com/microsoft/elasticflow-traces",
        download="one CSV a cluster (commit 277ed24)",
        reader="itp",
        remark="No users, states or sizes of clusters. Clusters 04 and 09 were not held here.",
        files=(
            KnownFile(
                "cluster01.csv",
                1595,
                "27d707f576fce5637f9efec43f610da3d335f36e3c6fd4ded2f5bccfce05974a",
            ),
            KnownFile(
                "cluster02.csv",
                5778,
                "7a5849e73aff9f9bc33f87c9bacadf8aab2f3a9e7bc5d70956f5cbf40126526c",
            ),
            KnownFile(
                "cluster03.csv",
                3011,
                "282d765c5289ab0ba870f494dd2c67893f9d16d726fdc8a51f13b7412515dbf8",
            ),
            KnownFile(
                "cluster05.csv",
                3629,
                "1553359ddd673a0ffc531ca10e73ba729dbacbce905ce878dbb8499d2dbed0fb",
            ),
            KnownFile(
                "cluster06.csv",
                2396,
                "52c0d9247d1de9b19a8bdafc25137daf6fa04f274ad3a2eb6dac51226ac2362e",
            ),
            KnownFile(
                "cluster07.csv",
                12699,
                "d4f46f32e2965c2265b2675c070565a86e40bff45733c828c5767bc0b8c1b318",
            ),
            KnownFile(
                "cluster08.csv",
                13047,
                "d60c20d0cd05ddf49fddffabbc784ba6177bbc1a762fc5cf8a0bc9056b084db8",
            ),
            KnownFile(
                "cluster10.csv",
                260,
                "139abea485b52090f5950d0f28d82878169df408e36052ec5c7cd04a3f3fcfa7",
            ),
        ),
    ),
    KnownTrace(
        name="itp-elasticflow",
        title="Microsoft ITP with the columns of ElasticFlow",
        jobs="as itp",
        licence="MIT",
        source="https://github.com/microsoft/elasticflow-traces",
        download="ElasticFlow's version of the clusters (commit 277ed24)",
        reader="itp",
        remark="Iterations, models, deadlines and batch sizes are generated, and not read.",
        files=(
            KnownFile(
                "cluster01.csv",
                1595,
                "599c2b80cea7b3d4784cc058981cf5f1238ce999b2e3a49b04c579884b7de1fb",
            ),
            KnownFile(
                "cluster03.csv",
                3011,
                "c8ddeebae6a586b4c3d9f0de6b7ec3ee20505bbc14b2f31ce7562f6a7e40b83f",
            ),
            KnownFile(
                "cluster06.csv",
                2396,
                "36442e0b06ced83bb15fea18b362b402b65443129663c45207105506911ef140",
            ),
            KnownFile(
                "cluster10.csv",
                260,
                "e54ba1d74228d02d77cce1f6b0120e5b50e784e7c278a2d2434431fba1b0f2eb",
            ),
            KnownFile(
                "195job.csv",
                195,
                "80eb7ae03ba5b19cbe9aa7ee68cf93ee438495b48aa18e414c83bdd8a400e5fb",
            ),
        ),
    ),
    KnownTrace(
        name="helios",
        title="SenseTime Helios, clusters Venus, Earth, Saturn and Uranus, 2020",
        jobs="3,362,981, of which 1,580,464 with GPUs",
        licence="CC-BY-4.0",
        source="https://github.com/S-Lab-System-Group/HeliosData",
        download="data.zip: cluster_log.csv and cluster_gpu_number.csv of each cluster",
        reader="helios --reader-option sizes=cluster_gpu_number.csv",
        remark="Hu et al., SC 2021. Of the logs only the example of the README was seen here.",
    ),
    KnownTrace(
        name="alibaba-2020",
        title="Alibaba PAI, tasks of July and August 2020",
        jobs="tasks of 6,500 GPUs on about 1,800 machines",
        licence="CC-BY-4.0",
        source="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2020",
        download=f"{PAI}, in it pai_task_table.csv",
        reader="alibaba-pai",
        remark="Many tasks ask for a part of a GPU, and these are left out. The hash is the one "
        f"that the documentation gives. {UNTRIED}",
        files=(
            KnownFile(
                "pai_task_table.csv",
                sha256="6954802b457305f8a9e480ef97c40060baee59649fd3adc62c5a1e048aa058de",
            ),
        ),
    ),
    KnownTrace(
        name="alibaba-2023",
        title="Alibaba GPU cluster, 2023 (openb)",
        jobs="8,152 pods",
        licence="none stated; the same files are under Apache-2.0 in "
        "hkust-adsl/kubernetes-scheduler-simulator",
        source="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023",
        download="csv/openb_pod_list_default.csv and openb_pod_list_gpuspec33.csv; nodes: "
        "csv/openb_node_list_gpu_node.csv (commit 7a6c496)",
        reader="alibaba",
        remark="Nearly half of the pods of one GPU ask for a part of it and count as whole ones.",
        files=(
            KnownFile(
                "openb_pod_list_default.csv",
                8152,
                "1ee7ed79c27a3b0861cda8ddba86a004c6aba904caafa329a76ae93ca63834a8",
            ),
            KnownFile(
                "openb_pod_list_gpuspec33.csv",
                8152,
                "eca4f746db1e5b25864ad021b55ece3943e101a3ebd4574d09dcb95c46117652",
            ),
        ),
    ),
    KnownTrace(
        name="alibaba-spot",
        title="Alibaba spot GPUs, v2026",
        jobs="466,867 of high priority or spot",
        licence="none stated",
        source="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2026-spot-gpu",
        download="job_info_df.csv; nodes: node_info_df.csv",
        reader="alibaba-spot",
        remark=f"Duan et al., ASPLOS 2026. {UNTRIED}",
    ),
    KnownTrace(
        name="acme",
        title="Acme of Shanghai AI Lab, clusters Seren and Kalos, 2023",
        jobs="880,740, of which 470,497 with GPUs",
        licence="CC-BY-4.0",
        source="https://github.com/InternLM/AcmeTrace",
        download="data/job_trace/trace_seren.csv and trace_kalos.csv",
        reader="acme",
        remark=f"Hu et al., NSDI 2024. {UNTRIED}",
    ),
    KnownTrace(
        name="supercloud",
        title="MIT Supercloud, 2021",
        jobs="460,497, of which 98,177 with GPUs",
        licence="in the archive's file LICENSE",
        source="https://dcc.mit.edu",
        download="slurm-log.csv of the archive datacenter-challenge/202201",
        reader="supercloud",
        remark=f"Samsi et al., HPEC 2021. {UNTRIED}",
    ),
    KnownTrace(
        name="parallel-workloads",
        title="Parallel Workloads Archive",
        jobs="logs of many clusters, of processors",
        licence="as each log's page says",
        source="https://www.cs.huji.ac.il/labs/parallel/workload/",
        download="a log in the Standard Workload Format, such as *.swf.gz",
        reader="swf",
        remark="Processors count as GPUs.",
    ),
)


def known_files(path: str | Path) -> list[tuple[KnownTrace, KnownFile]]:
    """Return the traces that a file is of, by the hash of its unpacked bytes.

    Parameters
    ----------
    path : str or Path
        Plain or gzip.

    Returns
    -------
    list of (KnownTrace, KnownFile)
        Empty where no hash fits.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "jobs.csv"
    >>> _ = path.write_text("job_id,submission_time,duration,num_gpu")
    >>> known_files(path)
    []
    """
    raw = read_bytes(path)
    sha256 = hashlib.sha256(raw).hexdigest()
    blob = hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()
    return [
        (trace, file)
        for trace in TRACES
        for file in trace.files
        if sha256 == file.sha256 or (file.blob and blob.startswith(file.blob))
    ]
