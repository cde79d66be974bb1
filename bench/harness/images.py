# SPDX-License-Identifier: Apache-2.0
"""What is checked of image batches of torch: (images, labels), or (bytes, labels) in W4a."""
import numpy as np

from .checksum import Dense, Ragged


class ImageCheck:
    """The checksum tensors of batches, and the mean pixel of all images that it has seen."""

    def __init__(self, workload):
        self.bytes_only = workload == "W4a"
        self.pixels, self.images = 0.0, 0

    def tensors(self, batch):
        images, labels = batch
        if self.bytes_only:
            return [Ragged("image/encoded", np.frombuffer(b"".join(images), np.uint8), [len(x) for x in images]),
                    Dense("label", labels)]
        self.pixels += float(images.double().mean()) * len(labels)
        self.images += len(labels)
        return [Dense("label", labels)]

    def extra(self):
        return {"mean_pixel": self.pixels / self.images} if self.images else {}
