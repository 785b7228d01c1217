"""Networks of PyTorch: modules, state dicts, TorchScript and exported programs."""
