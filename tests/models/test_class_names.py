"""Labels by name: folders, CSV files and networks that number the same classes otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from infimum import InputError, Outputs
from infimum.data import ImageOptions
from infimum.models import Cut, NetworkAdapter, extract

Image = pytest.importorskip("PIL.Image", reason="Images need Pillow")

PLAIN = ImageOptions(resize=None, crop=None, mean=(0,), std=(1,))


def network(classes=2, **known):
    """Always answers with class 0."""
    logits = np.eye(classes)[0] - 0.5
    return NetworkAdapter(Cut(lambda x: (np.tile(logits, (len(x), 1)), None), None, "hand-made", **known))


@pytest.fixture
def pets(tmp_path):
    """One cat and three dogs."""
    for name, count in (("cat", 1), ("dog", 3)):
        (tmp_path / "pets" / name).mkdir(parents=True)
        for i in range(count):
            Image.new("RGB", (4, 4)).save(tmp_path / "pets" / name / f"{i}.png")
    return tmp_path / "pets"


def run(adapter, data, **options):
    return adapter.outputs(data, images=PLAIN, **options)


def test_folders_go_by_the_networks_names(pets, tmp_path):
    outputs = run(network(class_names=("Dog", "cat")), pets)
    assert outputs.labels.tolist() == [1, 0, 0, 0]
    assert outputs.accuracy == 0.75
    assert outputs.class_names == ("Dog", "cat")
    extract(network(class_names=("Dog", "cat")), pets, tmp_path / "o.npz", images=PLAIN)
    stored = Outputs.load(tmp_path / "o.npz")
    assert stored.labels.tolist() == [1, 0, 0, 0]
    assert stored.class_names == ("Dog", "cat")
    # Fewer folders than classes are no matter where names tell which they are.
    assert run(network(3, class_names=("bird", "dog", "cat")), pets).labels.tolist() == [2, 1, 1, 1]
    assert run(network(), pets).labels.tolist() == [0, 1, 1, 1]


def test_folders_that_the_network_does_not_know_are_refused(pets):
    adapter = network(class_names=("dog", "bird"))
    with pytest.raises(InputError, match=r"'cat' is none of the network's \(dog, bird\).*labels"):
        run(adapter, pets)
    assert run(adapter, pets, labels="none").labels is None


def test_names_in_a_csv(pets, tmp_path):
    csv = tmp_path / "labels.csv"
    rows = ["cat/0.png,cat", "./dog/0.png,dog", "dog/1.png,dog", "dog/2.png,dog"]
    csv.write_text("file, label\n" + "\n".join(rows))
    assert run(network(class_names=("dog", "cat")), pets, labels=csv).labels.tolist() == [1, 0, 0, 0]
    # Two folders' names do not number the classes of a network of ten.
    with pytest.raises(InputError, match=r"names 2 classes .* the network has 10"):
        run(network(10), pets, labels=csv)
    csv.write_text("file,label\ncat/0.png,7\n" + "".join(f"dog/{i}.png,8\n" for i in range(3)))
    assert run(network(10), pets, labels=csv).labels.tolist() == [7, 8, 8, 8]


def test_names_that_only_the_network_knows(tmp_path):
    (tmp_path / "labels.csv").write_text("id,label\n0,high\n1,low\n")
    x, csv = np.zeros((2, 3)), tmp_path / "labels.csv"
    assert network(classes=2, class_names=("low", "high")).outputs(x, labels=csv).labels.tolist() == [1, 0]
    trained = NetworkAdapter(Cut(lambda x: (np.zeros((len(x), 2)), None), None, "m", classes=("high", "low")))
    assert trained.outputs(x, labels=csv).labels.tolist() == [0, 1]
    with pytest.raises(InputError, match=r"'high' is not a class index.*neither the data nor the network"):
        network().outputs(x, labels=csv)


def test_folders_for_a_model_trained_on_names(pets):
    trained = NetworkAdapter(Cut(lambda x: (np.zeros((len(x), 2)), None), None, "m", classes=("dog", "cat")))
    assert run(trained, pets).labels.tolist() == [1, 0, 0, 0]


@pytest.mark.filterwarnings("ignore:.*the class folders are numbers")
def test_folders_for_a_model_trained_on_numbers(pets, tmp_path):
    for name in ("3", "7"):
        (tmp_path / "d" / name).mkdir(parents=True)
        Image.new("RGB", (4, 4)).save(tmp_path / "d" / name / "a.png")

    def trained(*classes):
        forward = Cut(lambda x: (np.zeros((len(x), len(classes))), None), None, "m", classes=classes)
        return NetworkAdapter(forward)

    # The second folder is the model's third class; its position among the folders is another's number.
    assert run(trained(3, 1, 7), tmp_path / "d").labels.tolist() == [0, 2]
    assert run(trained(3, 1, 7), tmp_path / "d").class_names == ("3", "1", "7")
    with pytest.raises(InputError, match=r"names the classes cat, dog, but .* trained with the labels 1, 2;"):
        run(trained(1, 2), pets)
    assert run(trained(0, 1), pets).labels.tolist() == [0, 1, 1, 1]


def test_folders_that_are_numbers_are_warned_of(tmp_path):
    for name in (0, 1, 2, 10, "__MACOSX"):
        (tmp_path / "d" / str(name)).mkdir(parents=True)
        Image.new("RGB", (4, 4)).save(tmp_path / "d" / str(name) / "a.png")
    with pytest.warns(UserWarning, match="folder 10 is class 2"):
        outputs = run(network(4), tmp_path / "d")
    assert outputs.class_names == ("0", "1", "10", "2")


def test_endings_that_an_id_leaves_out(tmp_path):
    csv = tmp_path / "labels.csv"
    csv.write_text("id,label\na,1\nv1,1\n")

    def labels(*ids):
        return (
            network()
            .outputs({"x": np.zeros((len(ids), 2)), "ids": np.array(ids)}, labels=csv)
            .labels.tolist()
        )

    assert labels("a.JPG") == [1]
    with pytest.raises(InputError, match=r"no label for 'v1\.2'"):
        labels("v1.2")
    with pytest.raises(InputError, match=r"may be that of 'a\.jpg' or of 'a\.png'"):
        labels("a.jpg", "a.png")
