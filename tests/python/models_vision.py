# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of Hugging Face transformers' models of images, videos and series."""

import torch
from model_rows import BATCH, CLASSES, classes, images, tokens
from models_transformers import TINY, row

TINY_IMAGE = TINY | {"image_size": 32, "patch_size": 8}
# Of convolutional stages.
STAGES = {"hidden_sizes": [8, 16], "depths": [1, 1], "num_labels": CLASSES}
WINDOWS = {
    "image_size": 32,
    "patch_size": 4,
    "embed_dim": 16,
    "depths": [2, 2],
    "num_heads": [2, 4],
    "window_size": 4,
    "num_labels": CLASSES,
}
SEGFORMER = STAGES | {
    "num_encoder_blocks": 2,
    "num_attention_heads": [1, 2],
    "sr_ratios": [2, 1],
    "strides": [4, 2],
    "patch_sizes": [7, 3],
    "mlp_ratios": [2, 2],
}


def classified_images():
    return {"pixel_values": images(), "labels": classes()}


def captioned_images():
    return {"input_ids": tokens(), "pixel_values": images(), "return_loss": True}


def described_images():
    ids = tokens()
    return {"input_ids": ids, "pixel_values": images(), "labels": ids}


def segmented_images():
    labels = torch.randint(0, CLASSES, (BATCH, 32, 32))
    return {"pixel_values": images(), "labels": labels}


def classified_videos():
    return {"pixel_values": torch.randn(BATCH, 4, 3, 32, 32), "labels": classes()}


def continued_series():
    past, future = torch.randn(BATCH, 32, 3), torch.randn(BATCH, 8, 3)
    return {"past_values": past, "future_values": future}


def found_objects():
    boxes = torch.rand(BATCH, 2, 4) / 2 + 0.1
    labels = [{"class_labels": classes()[:2], "boxes": box} for box in boxes]
    return {"pixel_values": images(64), "labels": labels}


VISION = {
    "vit": row("ViTForImageClassification", classified_images, TINY_IMAGE),
    "deit": row("DeiTForImageClassification", classified_images, TINY_IMAGE),
    "beit": row("BeitForImageClassification", classified_images, TINY_IMAGE),
    "dinov2": row("Dinov2ForImageClassification", classified_images, TINY_IMAGE),
    "swin": row("SwinForImageClassification", classified_images, WINDOWS),
    "swinv2": row("Swinv2ForImageClassification", classified_images, WINDOWS),
    "pvt": row(
        "PvtForImageClassification",
        classified_images,
        STAGES
        | {"image_size": 32, "num_encoder_blocks": 2, "num_attention_heads": [1, 2]}
        | {"sequence_reduction_ratios": [2, 1], "patch_sizes": [4, 2]}
        | {"strides": [4, 2], "mlp_ratios": [2, 2]},
    ),
    "segformer": row("SegformerForImageClassification", classified_images, SEGFORMER),
    "segmenting segformer": row(
        "SegformerForSemanticSegmentation",
        segmented_images,
        SEGFORMER | {"decoder_hidden_size": 16},
    ),
    "convnext": row(
        "ConvNextForImageClassification", classified_images, STAGES | {"num_stages": 2}
    ),
    "regnet": row(
        "RegNetForImageClassification",
        classified_images,
        STAGES | {"embedding_size": 8, "groups_width": 8},
    ),
    "resnet": row(
        "ResNetForImageClassification",
        classified_images,
        STAGES | {"embedding_size": 8},
    ),
    "mobilevit": row(
        "MobileViTForImageClassification",
        classified_images,
        {"image_size": 32, "patch_size": 1, "hidden_sizes": [16, 16, 16]}
        | {"neck_hidden_sizes": [8, 8, 8, 8, 8, 8, 16], "num_attention_heads": 2}
        | {"num_labels": CLASSES},
    ),
    # Asks whether its encoder's layer is finite and, for the matcher and for the
    # loss, whether its boxes have their corners in order; matches on the host.
    "detr": row(
        "DetrForObjectDetection",
        found_objects,
        {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "num_queries": 5}
        | {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
        | {"encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "num_labels": CLASSES}
        | {"backbone": None, "use_timm_backbone": False}
        | {
            "backbone_config": {"model_type": "resnet", "out_features": ["stage2"]}
            | STAGES
            | {"embedding_size": 8}
        },
        reads=4,
    ),
    "clip": row(
        "CLIPModel",
        captioned_images,
        {"text_config": TINY, "vision_config": TINY_IMAGE, "projection_dim": 16},
    ),
    "siglip": row(
        "SiglipModel",
        captioned_images,
        {"text_config": TINY | {"projection_size": 32}, "vision_config": TINY_IMAGE},
    ),
    "blip": row(
        "BlipForConditionalGeneration",
        described_images,
        {"text_config": TINY | {"encoder_hidden_size": 32}}
        | {"vision_config": TINY_IMAGE},
    ),
    "videomae": row(
        "VideoMAEForVideoClassification",
        classified_videos,
        TINY_IMAGE | {"num_frames": 4, "tubelet_size": 2},
    ),
    "patchtst": row(
        "PatchTSTForPrediction",
        continued_series,
        {"num_input_channels": 3, "context_length": 32, "prediction_length": 8}
        | {"patch_length": 8, "patch_stride": 8, "d_model": 16, "ffn_dim": 32}
        | {"num_attention_heads": 2, "num_hidden_layers": 2},
    ),
}
