"""What a network said of inputs: logits, labels, features and ids, in memory or as a stream of blocks."""

from infimum.outputs._outputs import Outputs
from infimum.outputs._stream import OutputsStream, open_stream

__all__ = ["Outputs", "OutputsStream", "open_stream"]
