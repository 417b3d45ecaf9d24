"""Classes that PyTorch's pytrees know are taken apart the same way here; transformers' caches by their structure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import torch
import torch.utils._pytree as theirs

from dynamo_lite.torch_bridge.convert import TorchSize
from fx_ir import pytree_registry as pytree
from fx_ir.pytree_registry import GetAttrKey, MappingKey, NodeDef, SequenceKey
from solver.sym import SymInt


def resolve(cls: type[Any]) -> NodeDef | None:
    """Registers ``cls`` here if PyTorch's registry or the table of caches has it; None for a leaf."""
    if cls is TorchSize or cls is torch.Size:
        pytree.REGISTRY[TorchSize] = _register(torch.Size, _SHAPE)
        return _SHAPE
    known = theirs.SUPPORTED_NODES.get(cls)
    if known is not None:
        return _translated(cls, known)
    if cls.__module__ == "transformers.cache_utils":
        return _cache(cls)
    return None


def _shape(sizes: Sequence[Any]) -> Any:
    return TorchSize(sizes) if any(isinstance(size, SymInt) for size in sizes) else torch.Size(sizes)


_SHAPE: Final = NodeDef(
    torch.Size,
    lambda shape: (list(shape), None),
    lambda children, context: _shape(list(children)),
    serialized_type_name="torch.Size",
)


def _key(key: Any) -> Any:
    if isinstance(key, theirs.MappingKey):
        return MappingKey(key.key)
    if isinstance(key, theirs.GetAttrKey):
        return GetAttrKey(key.name)
    return SequenceKey(getattr(key, "idx", key))


def _translated(cls: type[Any], known: Any) -> NodeDef:
    with_keys = None
    if known.flatten_with_keys_fn is not None:

        def with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
            pairs, context = known.flatten_with_keys_fn(tree)
            return [(_key(key), child) for key, child in pairs], context

    written = theirs.SUPPORTED_SERIALIZED_TYPES.get(cls)
    name = written.serialized_type_name if written is not None else None
    unnamed = not isinstance(name, str) or name == theirs.NO_SERIALIZED_TYPE_NAME_FOUND
    return _register(
        cls,
        NodeDef(
            cls,
            known.flatten_fn,
            lambda children, context: known.unflatten_fn(list(children), context),
            flatten_with_keys=with_keys,
            serialized_type_name=_own_name(cls) if unnamed else name,
            to_dumpable_context=written.to_dumpable_context if written is not None else None,
            from_dumpable_context=written.from_dumpable_context if written is not None else None,
        ),
    )


def _own_name(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def named(name: str) -> type[Any] | None:
    """The class of PyTorch's registry that a file names."""
    unnamed = name == theirs.NO_SERIALIZED_TYPE_NAME_FOUND
    found = None if unnamed else theirs.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(name)
    return found or next((cls for cls in theirs.SUPPORTED_NODES if _own_name(cls) == name), None)


def _register(cls: type[Any], definition: NodeDef) -> NodeDef:
    pytree.REGISTRY[cls] = definition
    if definition.serialized_type_name is not None:
        pytree.BY_SERIALIZED_NAME[definition.serialized_type_name] = definition
    return definition


# --- transformers' caches: the keys and values of the layers, rebuilt by the class's own constructor


def _cache(cls: type[Any]) -> NodeDef | None:
    if cls.__name__ == "EncoderDecoderCache":
        return _register(
            cls,
            NodeDef(
                cls,
                lambda cache: ([cache.self_attention_cache, cache.cross_attention_cache], None),
                lambda children, context: cls(*children),
                keys=lambda context, count: [
                    GetAttrKey("self_attention_cache"),
                    GetAttrKey("cross_attention_cache"),
                ],
                serialized_type_name=f"transformers.{cls.__name__}",
            ),
        )
    if cls.__name__ != "DynamicCache":
        return None
    return _register(
        cls,
        NodeDef(
            cls,
            _flatten_dynamic,
            lambda children, context: _unflatten_dynamic(cls, list(children), context),
            keys=lambda context, count: [SequenceKey(index) for index in range(count)],
            serialized_type_name=f"transformers.{cls.__name__}",
        ),
    )


def _flatten_dynamic(cache: Any) -> tuple[list[Any], Any]:
    """Key and value of every layer that holds some, layer after layer; the context says which layers do."""
    children: list[Any] = []
    filled: list[str] = []
    for layer in cache.layers:
        if getattr(layer, "keys", None) is None:
            filled.append("")
            continue
        filled.append(type(layer).__name__)
        children += [layer.keys, layer.values]
    return children, filled


def _unflatten_dynamic(cls: type[Any], children: list[Any], filled: list[str]) -> Any:
    import transformers.cache_utils as caches

    made = cls()
    layers = []
    rest = iter(children)
    for name in filled:
        kind = getattr(caches, name or "DynamicLayer")
        layer = kind.__new__(kind)
        layer.__init__() if kind is caches.DynamicLayer else caches.CacheLayerMixin.__init__(layer)
        if name:
            layer.keys, layer.values = next(rest), next(rest)
            layer.dtype, layer.device = layer.keys.dtype, layer.keys.device
            layer.is_initialized = True
        layers.append(layer)
    made.layers = layers
    return made


pytree.RESOLVERS.append(resolve)
pytree.NAME_RESOLVERS.append(named)
