"""What a build server decides by: the target met, the inputs alike, no worse than before; infimum.toml says of whom."""

from infimum.gates._check_file import CheckFile, NetworkEntry, load_check_file
from infimum.gates._gates import Gate, alike_gate, baseline_gate, false_alarm, gates_of, target_gate

__all__ = [
    "CheckFile",
    "Gate",
    "NetworkEntry",
    "alike_gate",
    "baseline_gate",
    "false_alarm",
    "gates_of",
    "load_check_file",
    "target_gate",
]
