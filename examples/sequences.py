"""
Sequences
=========

Infer the weather from the clothes that somebody wore; consecutive days are dependent. `SequenceLabeler(loss="log")`
is a conditional random field and accepts the input of sklearn-crfsuite; `loss="hinge"` is the max-margin variant.
"""

import matplotlib.pyplot as plt
import numpy as np

import fenchel

rng = np.random.default_rng(0)
weather, clothes = ["dry", "rain", "snow"], ["shirt", "coat", "boots"]
stay = np.array([[0.9, 0.08, 0.02], [0.15, 0.8, 0.05], [0.05, 0.1, 0.85]])
wear = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])


X, y = [], []
for _ in range(400):
    states = [0]
    for _ in range(7):
        states.append(rng.choice(3, p=stay[states[-1]]))
    y.append([weather[state] for state in states[1:]])
    X.append([{"wears": clothes[rng.choice(3, p=wear[state])]} for state in states[1:]])

tagger = fenchel.SequenceLabeler(loss="log", C=1.0).fit(X[:300], y[:300])
print(f"{tagger.status_.name} by {tagger.solver_}: {tagger.certificate_}")
print(f"days right in new weeks: {tagger.score(X[300:], y[300:]):.1%}")

days, truths = [[x] for week in X for x in week], [[t] for week in y for t in week]
alone = fenchel.SequenceLabeler(loss="log", C=1.0).fit(days[:2100], truths[:2100])
print(f"each day by itself: {alone.score(days[2100:], truths[2100:]):.1%}")

moves = np.array([[tagger.transition_features_.get((a, b), 0.0) for b in weather] for a in weather])
plt.imshow(moves, cmap="RdBu", vmin=-abs(moves).max(), vmax=abs(moves).max())
plt.xticks(range(3), weather)
plt.yticks(range(3), weather)
plt.xlabel("next day")
plt.ylabel("day")
plt.colorbar(label="weight of the transition")
plt.show()
