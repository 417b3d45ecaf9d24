"""Errors of updates in place."""

from __future__ import annotations

from typing import Final

from solver.errors import UnsupportedError, declare

READS_WRITTEN: Final = declare(
    "reads-what-it-writes",
    UnsupportedError,
    "{op} reads a tensor that {problem} the memory of the one it writes",
    hint="give it a clone() of the tensor that is read",
    about="What such an update gives depends on the order in which elements are written; PyTorch raises, or gives any of the results.",
)
DRAWS_INTO_A_PART: Final = declare(
    "draws-into-a-part",
    UnsupportedError,
    "{op} draws random numbers into a tensor whose memory is not contiguous",
    hint="draw into a tensor of its own, and copy_() that into the part",
    about="PyTorch draws by another method, or in another order, there, which a functional graph cannot repeat.",
)
CONJUGATE_WRITTEN: Final = declare(
    "conjugate-written",
    UnsupportedError,
    "a complex tensor is updated in place after its conjugate was taken, or the conjugate is",
    hint="take torch.conj_physical(x), which is a copy",
    about="In PyTorch `conj()` is a view that is conjugated when it is read.",
)
