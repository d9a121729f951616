"""The folder of a model: one state that counts, switched at once; every byte is checked.

CURRENT                          the state that counts, and what its description must be
README.md                        the model card, written from that description
backbones/<sha256>.onnx          photos to features, where these are fixed; shared by all states
states/0002/model.json           method, settings, class names, preparation, digests of the others
states/0002/record.safetensors   all that is kept of the past
states/0002/scorer.safetensors   the method, ready to score features
states/0002/network.safetensors  backbone and layer, where features are trained

A packed model is one zip file of the same, with one state; what reads a folder reads it too.
docs/model-format.md says it in full. Readers take no lock: a state never changes once it is there.
"""

from memoryless.model_folder.check import check_folder
from memoryless.model_folder.format import ABOUT, FORMAT, PARTS, now
from memoryless.model_folder.packed import Packed, pack, unpack
from memoryless.model_folder.place import Place, save_state, switch, writing
from memoryless.model_folder.saved import Saved, kept_states, load_state, nothing_before

__all__ = [
    "ABOUT",
    "FORMAT",
    "PARTS",
    "Packed",
    "Place",
    "Saved",
    "check_folder",
    "kept_states",
    "load_state",
    "nothing_before",
    "now",
    "pack",
    "save_state",
    "switch",
    "unpack",
    "writing",
]
