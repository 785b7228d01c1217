"""Batches from Python code: pairs, triples, dicts, generators, DataLoaders."""

from __future__ import annotations

import numpy as np
import pytest

from infimum import InputError
from infimum.data import open_data

BATCHES = [(np.full((2, 3), i), [i, i], [f"{i}a", f"{i}b"]) for i in range(3)]


def test_pairs_triples_and_dicts():
    batches = list(open_data(BATCHES).batches(64))
    assert [b.stop for b in batches] == [2, 4, 6]
    assert batches[1].ids.tolist() == ["1a", "1b"]
    (batch,) = open_data(iter([{"pixel_values": np.zeros((2, 3)), "labels": [0, 1]}])).batches(64)
    assert list(batch.inputs) == ["pixel_values"]
    assert batch.labels.tolist() == [0, 1]


def test_inputs_alone_in_a_list_or_tuple():
    for batches in ([[np.zeros((2, 3))], [np.zeros((1, 3))]], [(np.zeros((2, 3)),), (np.zeros((1, 3)),)]):
        found = list(open_data(batches).batches(64))
        assert [b.inputs.shape for b in found] == [(2, 3), (1, 3)]
        assert found[0].labels is None


def test_beginning_in_the_middle():
    data = open_data(BATCHES)
    assert [b.stop for b in data.batches(64, start=2)] == [4, 6]
    with pytest.raises(InputError, match="other sizes"):
        list(data.batches(64, start=3))
    once = open_data(batch for batch in BATCHES)
    list(once.batches(64))
    with pytest.raises(InputError, match="only once"):
        list(once.batches(64, start=2))


def test_data_loader():
    torch = pytest.importorskip("torch", reason="DataLoaders are torch's")
    from torch.utils.data import DataLoader, TensorDataset

    dataset = TensorDataset(torch.arange(10.0).reshape(5, 2), torch.tensor([0, 1, 0, 1, 0]))
    with pytest.raises(InputError, match="DataLoader"):
        open_data(dataset)
    batches = list(open_data(DataLoader(dataset, batch_size=2)).batches(64))
    assert [b.stop for b in batches] == [2, 4, 5]
    assert isinstance(batches[0].labels, np.ndarray)
    (batch,) = open_data(DataLoader(TensorDataset(torch.zeros(3, 2)), batch_size=4)).batches(64)
    assert (tuple(batch.inputs.shape), batch.labels) == ((3, 2), None)
    assert open_data(torch.zeros(4, 2)).n == 4
