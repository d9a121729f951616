"""Images: `files` and `find` say where they are, `read` decodes them, `sources` loads data sets."""

from memoryless.images.dataset import Dataset, Images, Split, from_arrays, hold_out

__all__ = ["Dataset", "Images", "Split", "from_arrays", "hold_out"]
