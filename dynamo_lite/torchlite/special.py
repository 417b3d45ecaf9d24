"""``torch.special``: other names of elementwise operators."""

from __future__ import annotations

from typing import Any

from dynamo_lite.lowering.table import FUNCTIONS

expit = FUNCTIONS["sigmoid"]
erf = FUNCTIONS["erf"]
erfc = FUNCTIONS["erfc"]
erfinv = FUNCTIONS["erfinv"]
exp2 = FUNCTIONS["exp2"]
expm1 = FUNCTIONS["expm1"]
gammaln = FUNCTIONS["lgamma"]
digamma = psi = FUNCTIONS["digamma"]
log1p = FUNCTIONS["log1p"]
logit = FUNCTIONS["logit"]
logsumexp = FUNCTIONS["logsumexp"]
round = FUNCTIONS["round"]
sinc = FUNCTIONS["sinc"]
softmax = FUNCTIONS["softmax"]
log_softmax = FUNCTIONS["log_softmax"]
xlogy = FUNCTIONS["xlogy"]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no torch.special.{name}")
