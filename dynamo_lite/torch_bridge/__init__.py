"""Real PyTorch under our front ends. Importing this package makes PyTorch's modules known to ``dl.export``."""

import torch

from dynamo_lite.torch_bridge import version

# isort: split
from dynamo_lite.library import register_library
from dynamo_lite.lowering.access import TensorAccess, register_access
from dynamo_lite.torch_bridge import custom, flow, functionals, modules, pytrees, to_torch
from dynamo_lite.torch_bridge.backend import Backend
from dynamo_lite.torch_bridge.convert import describe
from dynamo_lite.torch_bridge.library import Library
from fx_ir.backend import register_backend
from fx_ir.ops.registry import register_tensor_type

register_tensor_type(torch.Tensor)
register_access(torch.Tensor, TensorAccess(describe, is_leaf=lambda tensor: tensor.is_leaf))
register_library(Library())
register_backend(Backend())

assert custom and flow and functionals and modules and pytrees and to_torch and version
