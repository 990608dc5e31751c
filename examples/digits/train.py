#!/usr/bin/env python3
"""Trains the digit classifier of the demo and exports it as ONNX.

usage: train.py [--epochs N] [--validate] DIGITS.npz     (DIGITS.npz: made by tools/fetch_assets)

Writes digits.onnx and sample_digits.npz beside this script and prints the accuracy on the held-out digits.
Needs Debian's python3-torch (1.13). Every choice (network, augmentation, epochs) was made with --validate,
which trains on 3,500 of the 4,000 training digits, measures on the other 500 and writes nothing; the held-out
digits are looked at once, at the very end, and nothing depends on what they say.
"""

import argparse
import io
import math
import os
import time
import zipfile

import numpy
import torch
from torch import nn
from torch.nn import functional

SEED = 20
BATCH = 50
SAMPLE = 200
HERE = os.path.dirname(os.path.abspath(__file__))


class Classifier(nn.Module):
    """Four 3x3 convolutions and one linear layer; 51,450 weights after batch normalisation is folded."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            *self.block(1, 16), *self.block(16, 32), nn.MaxPool2d(2),
            *self.block(32, 32), nn.MaxPool2d(2), *self.block(32, 48), nn.Dropout(0.3))
        self.last = nn.Linear(48 * 7 * 7, 10)

    @staticmethod
    def block(inputs, outputs):
        return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()

    def forward(self, image):
        return self.last(self.features(image).flatten(1))


class Scores(nn.Module):
    """What is exported: a classifier's logits as probabilities."""

    def __init__(self, classifier):
        super().__init__()
        self.classifier = classifier

    def forward(self, image):
        return functional.softmax(self.classifier(image), dim=1)


def distorted(images):
    """Each image turned by up to 12 degrees, scaled and slanted by up to 10 %, and shifted by up to 2 pixels."""
    count = len(images)
    turn = (torch.rand(count) * 2 - 1) * math.radians(12)
    scale = 1 + (torch.rand(count, 2) * 2 - 1) * 0.1
    slant = (torch.rand(count) * 2 - 1) * 0.1
    shift = (torch.rand(count, 2) * 2 - 1) * 2 / 14
    cos, sin = turn.cos(), turn.sin()
    rows = torch.stack([
        torch.stack([cos * scale[:, 0], -sin + slant, shift[:, 0]], 1),
        torch.stack([sin, cos * scale[:, 1], shift[:, 1]], 1)], 1)
    grid = functional.affine_grid(rows, images.shape, align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def train(images, labels, epochs):
    torch.manual_seed(SEED)
    model = Classifier()
    steps = epochs * (len(images) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    start = time.monotonic()
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for batch in torch.randperm(len(images)).split(BATCH):
            loss = functional.cross_entropy(model(distorted(images[batch])), labels[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch)
        seconds = time.monotonic() - start
        print(f"epoch {epoch + 1}/{epochs}: loss {total / len(images):.4f}, {seconds:.0f} s", flush=True)
    return model.eval()


def accuracy(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def write_sample(path, images, labels):
    """A compressed archive of the first held-out digits, the same bytes whenever it is made."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in (("images", images), ("labels", labels)):
            buffer = io.BytesIO()
            numpy.lib.format.write_array(buffer, numpy.ascontiguousarray(array), allow_pickle=False)
            entry = zipfile.ZipInfo(name + ".npy", (2000, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, buffer.getvalue())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("digits", metavar="DIGITS.npz")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--validate", action="store_true")
    arguments = parser.parse_args()
    digits = numpy.load(arguments.digits, allow_pickle=False)
    images = torch.from_numpy(digits["images"]).float().div(255).unsqueeze(1)
    labels = torch.from_numpy(digits["labels"]).long()
    chosen = torch.from_numpy(digits["train"]).long()
    held_out = torch.from_numpy(digits["held_out"]).long()

    if arguments.validate:
        torch.manual_seed(SEED)
        order = chosen[torch.randperm(len(chosen))]
        model = train(images[order[500:]], labels[order[500:]], arguments.epochs)
        print(f"accuracy on 500 digits set aside: {accuracy(model, images[order[:500]], labels[order[:500]]):.4f}")
        return

    model = train(images[chosen], labels[chosen], arguments.epochs)
    torch.onnx.export(
        Scores(model).eval(), torch.zeros(1, 1, 28, 28), os.path.join(HERE, "digits.onnx"), opset_version=13,
        input_names=["image"], output_names=["scores"], dynamic_axes={"image": {0: "N"}, "scores": {0: "N"}})
    sample = digits["held_out"][:SAMPLE]
    write_sample(os.path.join(HERE, "sample_digits.npz"), digits["images"][sample], digits["labels"][sample])
    print(f"accuracy on {len(held_out)} held-out digits: {accuracy(model, images[held_out], labels[held_out]):.4f}")


if __name__ == "__main__":
    main()
