"""Ray: the bits of one process, with a network too; a worker that is killed loses nothing and doubles nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from conftest_types import Toy

from infimum import Outputs
from infimum.conformal import Calibration, calibrate

pytestmark = pytest.mark.slow

SCRIPT = """
import os, pathlib, signal, sys, time
import ray
import infimum.scoring as scoring
from infimum.conformal import Calibration
from infimum.distributed.ray_engine import RayEngine
from infimum.scoring import FileSource, PartScorer, score_to_file

scoring.NUMBERS = 4000
here = pathlib.Path(sys.argv[1])

class Noted(PartScorer):
    # What is made is noted; the first to come to row 2,000 kills its own process, without any farewell.
    def part(self, start):
        with open(here / "log", "a") as log:
            log.write(f"{os.getpid()} {start}\\n")
        if start == 2000:
            try:
                (here / "killed").touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().part(start)

engine = RayEngine(2)
# The GPUs are told, not there: Ray only counts them.
ray.init(num_cpus=2, num_gpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
source, calibration = FileSource(here / "ops.npz"), Calibration.load(here / "cal.json")
score_to_file(
    source, calibration, here / "ray.npz", error="0.1",
    engine=lambda scorer, starts: engine(Noted(**vars(scorer)), starts),
)
score_to_file(source, calibration, here / "gpu.npz", error="0.1", engine=RayEngine(2, gpu=True))
"""


@pytest.fixture(scope="module")
def here(toy: Toy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ray.data", reason="Ray is an optional extra: pip install 'infimum[ray]'")
    folder = tmp_path_factory.mktemp("ray")
    rng = np.random.default_rng(3)
    labelled = toy.outputs(200, rng)
    calibrate(labelled.logits, labelled.labels, seed=9).save(folder / "cal.json")
    Outputs(toy.outputs(5500, rng).logits, ids=np.arange(5500).astype(str)).save(folder / "ops.npz")
    np.save(folder / "inputs.npy", toy.features(9000, rng))
    return folder


def same(one: Path, other: Path) -> None:
    with np.load(one) as a, np.load(other) as b:
        assert set(a.files) == set(b.files)
        for name in a.files:
            assert a[name].dtype == b[name].dtype
            np.testing.assert_array_equal(a[name], b[name])


def test_a_killed_worker_changes_nothing(here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(here)],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    notes = [line.split() for line in (here / "log").read_text().splitlines()]
    starts = [int(start) for _, start in notes]
    assert (here / "killed").exists()
    assert starts.count(2000) >= 2  # the part that was lost was made again
    assert set(starts) == set(range(0, 5500, 1000))
    assert len({process for process, _ in notes}) >= 2
    ops, cal = Outputs.load(here / "ops.npz"), Calibration.load(here / "cal.json")
    with np.load(here / "ray.npz") as made:
        np.testing.assert_array_equal(made["success_levels"], cal.success_levels(ops.logits))
        np.testing.assert_array_equal(made["prediction_sets"], cal.prediction_sets(ops.logits, "0.1"))
        np.testing.assert_array_equal(made["ids"], ops.ids)
        np.testing.assert_array_equal(made["predicted"], ops.predicted)
    same(here / "ray.npz", here / "gpu.npz")


def onnx_network(toy: Toy, path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="the network is an ONNX file")
    pytest.importorskip("onnxruntime", reason="the network is an ONNX file")
    from onnx import TensorProto, helper, numpy_helper

    weight = numpy_helper.from_array(toy.head.weight.astype(np.float32), "W")
    bias = numpy_helper.from_array(np.asarray(toy.head.bias, dtype=np.float32), "b")
    graph = helper.make_graph(
        [
            helper.make_node("Relu", ["x"], ["features"]),
            helper.make_node("Gemm", ["features", "W", "b"], ["logits"], transB=1),
        ],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", toy.head.n_features])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", toy.head.n_classes])],
        [weight, bias],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)


def test_a_network_on_workers_gives_the_levels_of_one_process(here: Path, toy: Toy) -> None:
    onnx_network(toy, here / "net.onnx")
    np.save(here / "inputs.npy", np.load(here / "inputs.npy").astype(np.float32))
    command = [
        *("score", "--calibration", here / "cal.json", "--model", here / "net.onnx"),
        *("--data", here / "inputs.npy", "--batch-size", 100),
    ]
    for name, engine in (("local", ()), ("workers", ("--engine", "ray"))):
        done = run(*command, "--out", here / f"{name}.npz", *engine, folder=here)
        assert done.returncode == 0, done.stderr[-3000:]
    assert "9000 inputs" in done.stdout
    same(here / "local.npz", here / "workers.npz")
