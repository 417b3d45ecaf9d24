"""Models of transformers that read images and videos."""

from __future__ import annotations

from typing import Any, Final

import transformers

from tests.zoo.building import Maker, image, kind, tensors
from tests.zoo.text_kinds import SEQ2SEQ

Options = dict[str, Any]
# fmt: off
VISION: Final[Options] = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "image_size": 32, "patch_size": 8,
}
TWO_STAGES: Final[Options] = {"hidden_sizes": [16, 32], "depths": [1, 1]}
CONVOLUTIONS: Final = TWO_STAGES | {"embedding_size": 16}
PYRAMID: Final = TWO_STAGES | {
    "num_encoder_blocks": 2, "patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2],
    "sr_ratios": [4, 1],
}
SWIN: Final[Options] = {
    "image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4,
}
RESNET: Final[Options] = CONVOLUTIONS | {"out_features": ["stage2"]}
DETECTION: Final[Options] = {
    "num_queries": 5, "use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None,
    "backbone_config": transformers.ResNetConfig(**RESNET),
}
SMALL, FREE = image(), image(free=True)
LARGE, LARGE_FREE = image(64), image(64, free=True)
VIDEO: Final = tensors(pixel_values=(4, 3, 32, 32))

IMAGE_KINDS: Final[dict[str, Maker]] = {
    "deit": kind("DeiT", VISION, inputs=SMALL),
    "beit": kind("Beit", VISION, use_relative_position_bias=True, inputs=SMALL),
    "dinov2": kind("Dinov2", VISION, inputs=FREE),
    "dinov2_registers": kind("Dinov2WithRegisters", VISION, inputs=SMALL),
    "vit_interpolated": kind("ViT", VISION, inputs=FREE, call={"interpolate_pos_encoding": True}),
    "siglip_vision": kind("SiglipVision", VISION, inputs=SMALL),
    "clip_vision": kind("CLIPVision", VISION, inputs=SMALL),
    "segformer": kind("Segformer", PYRAMID, inputs=LARGE_FREE),
    "mobilevit": kind("MobileViT", hidden_sizes=[16, 20, 24], neck_hidden_sizes=[8, 8, 16, 16, 20, 24, 32], image_size=64,
                      inputs=LARGE),
    "mobilenet_v1": kind("MobileNetV1", image_size=64, depth_multiplier=0.25, inputs=LARGE),
    "mobilenet_v2": kind("MobileNetV2", image_size=64, depth_multiplier=0.25, inputs=LARGE_FREE),
    "regnet": kind("RegNet", CONVOLUTIONS, groups_width=8, inputs=LARGE),
    "resnet_free": kind("ResNet", CONVOLUTIONS, layer_type="basic", inputs=LARGE_FREE),
    "poolformer": kind("PoolFormer", TWO_STAGES, num_encoder_blocks=2, patch_sizes=[7, 3], strides=[4, 2], padding=[2, 1],
                       inputs=LARGE_FREE),
    "swinv2": kind("Swinv2", SWIN, inputs=SMALL),
    "pvt": kind("Pvt", image_size=64, num_encoder_blocks=2, depths=[1, 1], sequence_reduction_ratios=[2, 1], hidden_sizes=[16, 32],
                patch_sizes=[4, 2], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2], inputs=LARGE),
    "pvt_v2": kind("PvtV2", image_size=64, num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[16, 32],
                   patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2], inputs=LARGE_FREE),
    "swiftformer": kind("SwiftFormer", image_size=64, depths=[1, 1], embed_dims=[16, 32], downsamples=[True, True], inputs=LARGE),
    "dinov3_vit": kind("DINOv3ViT", VISION, num_register_tokens=2, inputs=FREE),
    "levit": kind("Levit", image_size=64, hidden_sizes=[16, 32, 48], num_attention_heads=[1, 2, 3], depths=[1, 1, 1],
                  key_dim=[8, 8, 8], inputs=LARGE),
    "convnextv2": kind("ConvNextV2", TWO_STAGES, num_stages=2, inputs=LARGE_FREE),
    "focalnet": kind("FocalNet", image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], focal_levels=[1, 1], focal_windows=[3, 3],
                     inputs=FREE),
    "bit": kind("Bit", CONVOLUTIONS, num_groups=4, layer_type="preactivation", inputs=LARGE),
    "dpt": kind("DPT", VISION, num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 16, 16, 16],
                fusion_hidden_size=16, is_hybrid=False, backbone_config=None, head="ForDepthEstimation", inputs=SMALL),
    "glpn": kind("GLPN", PYRAMID, inputs=LARGE),
    "yolos": kind("Yolos", VISION, image_size=[32, 32], num_detection_tokens=4, inputs=SMALL),
    "vitdet": kind("VitDet", VISION, window_size=2, window_block_indices=[0], residual_block_indices=[], num_channels=3,
                   pretrain_image_size=32, inputs=SMALL),
    "hiera": kind("Hiera", image_size=[32, 32], embed_dim=16, depths=[1, 1], num_heads=[1, 2], patch_size=[7, 7],
                  patch_stride=[4, 4], patch_padding=[3, 3], query_stride=[2, 2], masked_unit_size=[4, 4], num_query_pool=1,
                  inputs=SMALL),
    "ijepa": kind("IJepa", VISION, inputs=SMALL),
    "vit_msn": kind("ViTMSN", VISION, inputs=SMALL),
    "upernet_like": kind("Swin2SR", image_size=16, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4, num_channels=3,
                         inputs=image(16)),
    "vitmae": kind("ViTMAE", VISION, mask_ratio=0.5, inputs=SMALL),
    "donut_swin": kind("DonutSwin", SWIN, inputs=FREE),
    "graphormer_like": kind("MaskFormerSwin", SWIN, inputs=SMALL),
    "videomae": kind("VideoMAE", VISION, num_frames=4, inputs=VIDEO),
    "vjepa2": kind("VJEPA2", VISION, crop_size=32, frames_per_clip=4, pred_hidden_size=32, pred_num_attention_heads=2,
                   pred_num_hidden_layers=1, inputs=tensors(pixel_values_videos=(4, 3, 32, 32))),
    "vivit": kind("Vivit", VISION, num_frames=4, tubelet_size=[2, 8, 8], inputs=VIDEO),
    "timesformer": kind("Timesformer", VISION, num_frames=4, inputs=VIDEO),
    "sam_vision": kind("SamVision", VISION, output_channels=16, global_attn_indexes=[1], window_size=2, mlp_dim=64, num_pos_feats=8,
                       inputs=SMALL),
    "detr_like": kind("TableTransformer", SEQ2SEQ, DETECTION, inputs=LARGE),
    "deformable_detr": kind("DeformableDetr", SEQ2SEQ, DETECTION, num_feature_levels=2, inputs=LARGE),
}
# fmt: on
