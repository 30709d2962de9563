"""
Image segmentation
==================

Separate an object from its background in noisy images, where neighbouring pixels tend to belong together.
`AssociativeGraph` learns how much a pixel's value counts, and how much a border between two pixels costs: little where their
values differ. Its labellings are minimum cuts, exact also for images of many thousand pixels.
"""

import matplotlib.pyplot as plt
import numpy as np

import fenchel

SIZE = 24
rng = np.random.default_rng(0)
pixels = np.arange(SIZE * SIZE).reshape(SIZE, SIZE)
right, down = np.c_[pixels[:, :-1].ravel(), pixels[:, 1:].ravel()], np.c_[pixels[:-1].ravel(), pixels[1:].ravel()]
edges = np.concatenate([right, down])


def image():
    i, j = np.mgrid[:SIZE, :SIZE]
    (a, b), (wide, high) = rng.uniform(8, 16, 2), rng.uniform(4, 8, 2)
    truth = (((i - a) / wide) ** 2 + ((j - b) / high) ** 2 < 1).astype(int).ravel()
    value = truth + rng.normal(0.0, 0.8, truth.size)
    smooth = np.exp(-((value[edges[:, 0]] - value[edges[:, 1]]) ** 2))
    return (value[:, None], edges, np.c_[np.ones(len(edges)), smooth]), truth


images = [image() for _ in range(40)]
(examples, labels), (new, truths) = zip(*images[:20], strict=True), zip(*images[20:], strict=True)
model = fenchel.structured.AssociativeGraph(normalise=True)
result = fenchel.solve(fenchel.Problem(examples, labels, loss=model, alpha=1e-3), tol=1e-2)
print(f"{result.status.name}: {result.certificate}")
single = fenchel.Classifier(loss="hinge").fit(np.concatenate([x[0] for x in examples]), np.concatenate(labels))
found = {"graph": [model.predict(result.coef, x) for x in new], "single pixels": [single.predict(x[0]) for x in new]}
for name, labelled in found.items():
    print(f"{name}: {np.mean(np.array(labelled) != truths):.1%} of the pixels of new images are wrong")

pictures = {"image": new[0][0], "truth": truths[0], **{name: labelled[0] for name, labelled in found.items()}}
for k, (name, picture) in enumerate(pictures.items()):
    plt.subplot(2, 2, k + 1, title=name, xticks=[], yticks=[]).imshow(picture.reshape(SIZE, SIZE), cmap="gray")
plt.show()
