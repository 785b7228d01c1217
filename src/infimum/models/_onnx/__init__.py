"""Networks in ONNX files: looked through, cut before the last product, run by ONNX Runtime."""
