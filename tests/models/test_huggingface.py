"""Hugging Face classifiers in local folders: tiny ones with random weights, made here."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")
transformers = pytest.importorskip("transformers", reason="transformers is an optional extra")

from infimum import Head, InputError  # noqa: E402
from infimum.models import NetworkAdapter  # noqa: E402
from infimum.models._huggingface import cut_huggingface  # noqa: E402

torch.set_num_threads(1)
SMALL = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}


def bert():
    config = transformers.BertConfig(
        vocab_size=20, num_labels=3, max_position_embeddings=16, pad_token_id=0, **SMALL
    )
    return transformers.BertForSequenceClassification(config)


def distilbert():
    config = transformers.DistilBertConfig(
        vocab_size=20, num_labels=3, dim=8, n_layers=1, n_heads=2, hidden_dim=16
    )
    return transformers.DistilBertForSequenceClassification(config)


def roberta():
    config = transformers.RobertaConfig(
        vocab_size=20, num_labels=4, max_position_embeddings=16, pad_token_id=0, **SMALL
    )
    return transformers.RobertaForSequenceClassification(config)


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=20, num_labels=3, n_positions=16, n_embd=8, n_layer=1, n_head=2, pad_token_id=0, bos_token_id=1,
        eos_token_id=2,
    )  # fmt: skip
    return transformers.GPT2ForSequenceClassification(config)


def vit():
    config = transformers.ViTConfig(image_size=8, patch_size=4, num_channels=1, num_labels=3, **SMALL)
    return transformers.ViTForImageClassification(config)


def resnet():
    config = transformers.ResNetConfig(
        num_channels=1, embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], num_labels=3, layer_type="basic"
    )
    return transformers.ResNetForImageClassification(config)


def folder_of(make, path):
    torch.manual_seed(0)
    model = make().eval()
    model.save_pretrained(path)
    return model


def token_ids():
    ids = np.random.default_rng(0).integers(3, 20, size=(6, 10))
    ids[::2, 7:] = 0
    return ids


IMAGES = np.random.default_rng(0).normal(size=(6, 1, 8, 8))


@pytest.mark.parametrize("make", [bert, distilbert, roberta, gpt2])
def test_text_classifiers(tmp_path, make):
    model, ids = folder_of(make, tmp_path), token_ids()
    mask = (ids != 0).astype(np.int64)
    with torch.no_grad():
        expected = model(input_ids=torch.as_tensor(ids), attention_mask=torch.as_tensor(mask)).logits.numpy()
    for inputs in (ids, {"input_ids": ids, "attention_mask": mask}, torch.as_tensor(ids)):
        cut = cut_huggingface(tmp_path, inputs)
        assert isinstance(cut.head, Head)
        logits, features = NetworkAdapter(cut).batch(inputs)
        np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(cut.head.logits(features), logits, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", [vit, resnet])
def test_image_classifiers(tmp_path, make):
    model = folder_of(make, tmp_path)
    with torch.no_grad():
        expected = model(pixel_values=torch.as_tensor(IMAGES).float()).logits.numpy()
    cut = cut_huggingface(tmp_path, IMAGES[:2])
    logits, features = NetworkAdapter(cut).batch(IMAGES)
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(cut.head.logits(features), logits, rtol=1e-5, atol=1e-6)
    assert features.shape == (6, 8)


def test_nothing_is_drawn_while_a_folder_is_read(tmp_path, capfd):
    folder_of(bert, tmp_path)
    capfd.readouterr()
    cut_huggingface(tmp_path, token_ids())
    assert capfd.readouterr() == ("", "")
    assert transformers.utils.logging.is_progress_bar_enabled()


def test_half_precision_weights_are_read_as_float32(tmp_path):
    torch.manual_seed(0)
    bert().half().save_pretrained(tmp_path)
    logits, features = NetworkAdapter(cut := cut_huggingface(tmp_path, token_ids())).batch(token_ids())
    np.testing.assert_allclose(cut.head.logits(features), logits, rtol=1e-5, atol=1e-6)


def test_wrong_inputs(tmp_path):
    folder_of(bert, tmp_path)
    with pytest.raises(
        InputError, match=r"token ids, whole numbers \(n, length\), got float64 \(6, 1, 8, 8\)"
    ):
        cut_huggingface(tmp_path, IMAGES)
    with pytest.raises(InputError, match="example is missing"):
        cut_huggingface(tmp_path)
    with pytest.raises(InputError, match="cannot run this batch"):
        cut_huggingface(tmp_path, token_ids() + 1000)


def test_base_model_without_its_classifier_is_refused(tmp_path):
    model = folder_of(bert, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    model.bert.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        InputError, match=r"lacks weights of the classifier \(classifier\.bias, classifier\.weight"
    ):
        cut_huggingface(tmp_path, token_ids())


def test_folders_that_are_not_in_order(tmp_path):
    folder = tmp_path / "model"
    folder_of(bert, folder)
    weights = folder / "model.safetensors"
    config = json.loads((folder / "config.json").read_text())

    def refused(match):
        with pytest.raises(InputError, match=match):
            cut_huggingface(folder, token_ids())

    with pytest.raises(InputError, match="is not a folder"):
        cut_huggingface("someone/some-model", token_ids())
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../../etc/passwd"}}')
    refused("not a .safetensors file of this folder")
    (folder / "model.safetensors.index.json").unlink()
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertForMaskedLM"]}))
    refused("holds a BertForMaskedLM")
    (folder / "config.json").write_text("{")
    refused("is not JSON")
    (folder / "config.json").write_text(json.dumps(config))
    kept = weights.read_bytes()
    weights.write_bytes(kept[: len(kept) // 2])
    refused("cannot be read as a Hugging Face classifier")
    shutil.move(weights, folder / "pytorch_model.bin")
    refused("no .safetensors file")


def test_code_in_the_folder_is_not_run(tmp_path):
    folder_of(bert, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {
        "model_type": "theirs",
        "auto_map": {
            "AutoConfig": "theirs.TheirConfig",
            "AutoModelForSequenceClassification": "theirs.TheirModel",
        },
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "theirs.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(InputError, match="cannot be read as a Hugging Face classifier"):
        cut_huggingface(tmp_path, token_ids())
    assert not (tmp_path / "ran").exists()


def test_names_of_the_classes_go_by_name(tmp_path):
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        image_size=8, patch_size=4, num_channels=1, num_labels=2, id2label={0: "dog", 1: "cat"}, **SMALL
    )
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path)
    assert cut_huggingface(tmp_path, IMAGES).class_names == ("dog", "cat")
    folder_of(vit, tmp_path / "plain")
    assert cut_huggingface(tmp_path / "plain", IMAGES).class_names == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_labels": 3, "problem_type": "multi_label_classification"}, "several labels may hold at once"),
        ({"num_labels": 1}, "is a regression model"),
        ({"num_labels": 3, "problem_type": "regression"}, "is a regression model"),
    ],
)
def test_models_that_are_no_classifiers_of_one_label(tmp_path, settings, message):
    config = transformers.ViTConfig(image_size=8, patch_size=4, num_channels=1, **settings, **SMALL)
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=message):
        cut_huggingface(tmp_path, IMAGES)


@pytest.mark.parametrize("named", ["them/kernel", {"": "sdpa", "text": "them/kernel:flash"}])
@pytest.mark.parametrize(
    "key", ["attn_implementation", "_attn_implementation_internal", "experts_implementation"]
)
def test_code_that_a_configuration_would_download_is_refused(tmp_path, key, named):
    folder_of(bert, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "text_config": {key: named}}))
    with pytest.raises(
        InputError, match=r"asks for 'them/kernel.*code that transformers would download and run"
    ):
        cut_huggingface(tmp_path, token_ids())
