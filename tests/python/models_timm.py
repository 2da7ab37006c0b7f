# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of timm's models."""

from model_rows import CLASSES, Model, class_loss, classes, images, package


def row(name, size=32, **numbers):
    """Make a row of a model of timm's list, or of a class named by its module."""

    def make():
        timm = package("timm")
        module, _, kind = name.rpartition(".")
        if not module:
            return timm.create_model(name, num_classes=CLASSES, **numbers)
        kind = getattr(getattr(timm.models, module), kind)
        return kind(num_classes=CLASSES, **numbers)

    def batch():
        return {"x": images(size), "labels": classes()}

    return Model(make, batch, class_loss)


# timm keeps some of its families at the size of a test. Of images of 32x32 the
# ResNet's last norms see four values of a channel: a ReLU comes so near to zero
# that eager's losses differ by 1e-3 once its weights do by 2e-7.
TIMM = {
    "timm resnet": row("test_resnet", size=64),
    "timm efficientnet": row("test_efficientnet", size=64),
    "timm nfnet": row("test_nfnet"),
    "timm byobnet": row("test_byobnet"),
    "timm convnext": row("test_convnext", drop_path_rate=0.1),
    "timm mobilenet": row("mobilenetv3_small_050", size=64),
    "timm regnet": row("regnetx_002"),
    "timm densenet": row("densenet121", block_config=(2, 2), growth_rate=8),
    "timm vit": row("test_vit", img_size=32, patch_size=8, drop_rate=0.1),
    "timm vit, patches dropped": row(
        "test_vit", img_size=32, patch_size=8, patch_drop_rate=0.25
    ),
    "timm deit": row(
        "deit_tiny_patch16_224",
        img_size=32,
        patch_size=8,
        embed_dim=32,
        depth=2,
        num_heads=4,
    ),
    "timm edgenext": row("edgenext_xx_small", size=64),
    "timm fastvit": row("fastvit_t8", size=64),
    "timm maxvit": row("maxvit_rmlp_pico_rw_256", size=64, img_size=64),
    "timm swin": row(
        "swin_tiny_patch4_window7_224",
        img_size=32,
        window_size=4,
        embed_dim=16,
        depths=(2, 2),
        num_heads=(2, 4),
    ),
    "timm mixer": row(
        "mlp_mixer.MlpMixer", img_size=32, patch_size=8, embed_dim=32, num_blocks=2
    ),
    "timm poolformer": row(
        "metaformer.MetaFormer", depths=(1, 1, 1, 1), dims=(16, 24, 32, 40)
    ),
    "timm xcit": row(
        "xcit_nano_12_p16_224", img_size=32, depth=2, embed_dim=32, num_heads=4
    ),
}
