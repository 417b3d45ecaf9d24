"""``torch.autograd``: the gradient modes; differentiation itself is refused."""

from __future__ import annotations

from typing import Any, NoReturn

from dynamo_lite.lowering.errors import NO_AUTOGRAD, where
from dynamo_lite.torchlite.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["Function", "backward", "enable_grad", "grad", "inference_mode", "no_grad", "set_grad_enabled"]


def grad(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: there is no autograd here."""
    raise NO_AUTOGRAD(what="torch.autograd.grad", where="torchlite", location=where())


def backward(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: there is no autograd here."""
    raise NO_AUTOGRAD(what="torch.autograd.backward", where="torchlite", location=where())


class Function:
    """Custom differentiation rules are refused when applied."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NO_AUTOGRAD(what=f"{cls.__name__}.apply", where="torchlite", location=where())
