# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments for the recorded overloads that no sample of PyTorch's OpInfo calls."""

import torch

F32, F64, I8, I32, I64 = (
    torch.float32,
    torch.float64,
    torch.int8,
    torch.int32,
    torch.int64,
)
X = torch.tensor([[0.2, 0.9, 0.4], [0.7, 0.1, 0.6]])
Y = torch.tensor([[1.5, 2.0, 0.5], [3.0, 2.5, 1.0]])
V = torch.tensor([0.3, 0.8, 0.5])
W = torch.tensor([0.4, 0.6])
MASK, LONG, INT8 = X > 0.5, (X * 9).long(), (X * 9).to(I8)
ONE, ZERO = torch.tensor(1.0), torch.tensor(0.0)
ON, ZEROS = torch.tensor([1]), torch.tensor([0, 1], dtype=I32)
BATCH = torch.linspace(0, 1, 2 * 4 * 5 * 5).view(2, 4, 5, 5)
VOLUME = torch.linspace(0, 1, 2 * 2 * 4 * 5 * 6).view(2, 2, 4, 5, 6)
KERNEL = torch.linspace(-1, 1, 3 * 4 * 3 * 3).view(3, 4, 3, 3)
KERNEL3 = torch.linspace(-1, 1, 3 * 2 * 27).view(3, 2, 3, 3, 3)
BIAS = torch.tensor([0.1, 0.2, 0.3])
CHANNELS = torch.linspace(0.5, 1, 4)
WORDS = torch.linspace(0, 1, 2 * 5 * 8).view(2, 5, 8)
HEADS = torch.linspace(0, 1, 2 * 2 * 5 * 4).view(2, 2, 5, 4)
ROWS, COLUMNS = torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1])
OFFSETS = torch.tensor([0, 1, 2])
TABLE, BAG = torch.rand(5, 3), torch.tensor([1, 2, 4, 0])
STARTS, BAG_OF = torch.tensor([0, 2]), torch.tensor([0, 0, 1, 1])
LISTS = [X.clone(), V.clone()]


def like(tensors, value=0.0):
    return [torch.full_like(each, value) for each in tensors]


def steps():
    return [torch.tensor(2.0) for _ in LISTS]


def square(width, height=None):
    return torch.linspace(-1, 1, width * (height or width)).view(-1, width)


MOMENTS = [LISTS, like(LISTS, 0.1), like(LISTS), like(LISTS)]
OF_ADAM = {
    "beta1": 0.9,
    "beta2": 0.999,
    "weight_decay": 0.01,
    "eps": 1e-8,
    "amsgrad": False,
    "maximize": False,
}
OF_ADAGRAD = {"lr_decay": 0.1, "weight_decay": 0.0, "eps": 1e-8, "maximize": False}
OF_SGD = {
    "weight_decay": 0.1,
    "momentum": 0.9,
    "dampening": 0.0,
    "nesterov": False,
    "maximize": False,
    "is_first_step": False,
}
ADAM = [*MOMENTS, [], steps(), OF_ADAM]
ADAGRAD = [*MOMENTS[:3], steps(), OF_ADAGRAD]
SGD = [*MOMENTS[:3], OF_SGD]
ATTENTION = [WORDS, WORDS, WORDS, 8, 2, square(8, 24), torch.ones(24)]
ENCODER = [
    *(WORDS, 8, 2, square(8, 24), torch.ones(24), square(8), torch.ones(8)),
    *(True, False, 1e-5, *(torch.ones(8) for _ in range(4))),
    *(square(8, 16), torch.ones(16), square(16, 8), torch.ones(8)),
]
CONVOLUTION = [BATCH, KERNEL, BIAS, [1, 1], [0, 0], [1, 1], False, [0, 0], 1]
QUANTIZED = {"dtype": torch.quint8}
LAYER = [
    *(torch.rand(5, 2, 3), square(3, 16), square(4, 16), torch.ones(16)),
    *(torch.ones(16), torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)),
    *(False, [], 2, 4, 1, True, False, False, True),
]


def layer_backward():
    """Return the arguments of what goes back through LAYER."""
    tensors, (reverse, sizes, *shape) = LAYER[:7], LAYER[7:]
    mode, hidden, layers, biases, both, batch_first, train = shape
    output, hy, cy, workspace = torch.ops.aten.mkldnn_rnn_layer(*LAYER)
    return [
        *(*tensors, output, hy, cy, torch.ones_like(output), hy, cy, reverse, mode),
        *(hidden, layers, biases, train, both, sizes, batch_first, workspace),
    ]


# Of an overload the arguments in turn, and at last those by keyword.
CALLS = {
    "__lshift__.Scalar": [LONG, 2],
    "__lshift__.Tensor": [LONG, LONG],
    "__rshift__.Scalar": [LONG, 2],
    "__rshift__.Tensor": [LONG, LONG],
    "_add_relu.Scalar": [X, 2.0],
    "_add_relu.Tensor": [X, Y],
    "_addmm_activation": [V, W[None], X],
    "_aminmax": [X],
    "_aminmax.dim": [X, 1],
    "_amp_foreach_non_finite_check_and_unscale": [LISTS, ZERO[None], ONE],
    "_amp_update_scale": [ONE, torch.tensor(0, dtype=I32), ZERO, 2.0, 0.5, 100],
    "_assert_async": [ONE],
    "_assert_async.msg": [ONE, "it is"],
    "_assert_scalar": [1, "it is"],
    "_assert_tensor_metadata": [X, [2, 3]],
    "_batch_norm_no_update": [BATCH, *[CHANNELS] * 4, 0.1, 1e-5],
    "_cholesky_solve_helper": [square(2), square(2), False],
    "_coalesced": [X, True],
    "_compute_linear_combination": [BATCH[0], square(4, 3)],
    "_convert_indices_from_coo_to_csr": [torch.tensor([0, 0, 1]), 2],
    "_convert_indices_from_csr_to_coo": [ROWS, COLUMNS],
    "_convert_weight_to_int4pack_for_cpu": [torch.ones(32, 64, dtype=I32), 2],
    "_convolution": [*CONVOLUTION, False, False, True, True],
    "_copy_from": [X, Y.clone()],
    "_copy_from_and_resize": [X, Y.clone()],
    "_dirichlet_grad": [X, Y, Y * 2],
    "_dyn_quant_pack_4bit_weight": [
        torch.zeros(32, 16, dtype=torch.uint8),
        *(torch.ones(32), None, 32, 32, 32),
    ],
    "_embedding_bag_dense_backward": [
        *(torch.ones(2, 3), BAG, BAG_OF, torch.tensor([2, 2]), STARTS[:0], 5),
        *(False, 0, None),
    ],
    "_embedding_bag_forward_only": [TABLE, BAG, STARTS],
    "_embedding_bag_per_sample_weights_backward": [
        *(torch.ones(2, 3), TABLE, BAG, STARTS, BAG_OF, 0),
    ],
    "_empty_affine_quantized": [[2, 3], QUANTIZED],
    "_empty_per_channel_affine_quantized": [
        [2, 3],
        {"scales": W, "zero_points": ZEROS, "axis": 0, **QUANTIZED},
    ],
    "_euclidean_dist": [X, Y],
    "_fake_quantize_learnable_per_channel_affine": [X, W, W, 0, 0, 255],
    "_fake_quantize_learnable_per_channel_affine_backward": [X, X, W, W, 0, 0, 255],
    "_fake_quantize_learnable_per_tensor_affine": [X, ONE[None], ONE[None], 0, 255],
    "_fake_quantize_learnable_per_tensor_affine_backward": [
        *(X, X, ONE[None], ONE[None], 0, 255),
    ],
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": [
        *(X, ONE[None], ZEROS[:1], ON, 0, 255),
    ],
    "_foobar": [X],
    "_foreach_addcdiv.ScalarList": [LISTS, LISTS, LISTS, [1.0, 2.0]],
    "_foreach_addcdiv.Tensor": [LISTS, LISTS, LISTS, W],
    "_foreach_addcmul.ScalarList": [LISTS, LISTS, LISTS, [1.0, 2.0]],
    "_foreach_addcmul.Tensor": [LISTS, LISTS, LISTS, W],
    "_foreach_add.Tensor": [LISTS, ONE],
    "_foreach_div.Tensor": [LISTS, ONE],
    "_foreach_mul.Tensor": [LISTS, ONE],
    "_foreach_pow.ScalarAndTensor": [2.0, LISTS],
    "_foreach_powsum.Scalar": [LISTS, 2],
    "_functional_assert_async.msg": [ONE, "it is", ZERO],
    "_functional_assert_scalar": [1, "it is", ZERO],
    "_functional_sym_constrain_range": [2, 0, 9, ZERO],
    "_functional_sym_constrain_range_for_size": [4, 2, 9, ZERO],
    "_fused_adagrad": [*ADAGRAD, {"lr": 0.1}],
    "_fused_adagrad.tensor_lr": [*ADAGRAD, {"lr": ONE}],
    "_fused_adam": [*ADAM, {"lr": 0.1}],
    "_fused_adam.tensor_lr": [*ADAM, {"lr": ONE}],
    "_fused_adamw": [*ADAM, {"lr": 0.1}],
    "_fused_adamw.tensor_lr": [*ADAM, {"lr": ONE}],
    "_fused_moving_avg_obs_fq_helper_functional": [
        *(X, ON, ON, ZERO[None], ONE[None], ONE[None], ZEROS[:1], 0.01, 0, 255, 0),
    ],
    "_fused_sdp_choice": [HEADS, HEADS, HEADS],
    "_fused_sgd": [*SGD, {"lr": 0.1}],
    "_fused_sgd.tensor_lr": [*SGD, {"lr": ONE}],
    "_fw_primal_copy": [X, 0],
    "_grid_sampler_2d_cpu_fallback": [BATCH, torch.zeros(2, 3, 3, 2), 0, 0, False],
    "_grid_sampler_2d_cpu_fallback_backward": [
        *(torch.ones(2, 4, 3, 3), BATCH, torch.zeros(2, 3, 3, 2), 0, 0, False),
    ],
    "_grouped_mm": [torch.ones(2, 16, 16).bfloat16(), torch.ones(2, 16, 16).bfloat16()],
    "_has_same_storage_numel": [X, Y],
    "_index_put_impl": [X, [torch.tensor([0, 1]), torch.tensor([2, 0])], W],
    "_int_mm": [INT8, INT8.t().contiguous()],
    "_is_all_true": [MASK],
    "_is_any_true": [MASK],
    "_jagged_to_padded_dense_forward": [X, [OFFSETS], [2]],
    "_lazy_clone": [X],
    "_linalg_eigvals": [square(3)],
    "_logcumsumexp": [X, 1],
    "_make_dep_token": [],
    "_make_dual_copy": [X, Y, 0],
    "_make_per_channel_quantized_tensor": [X.to(torch.uint8), W.double(), STARTS, 0],
    "_make_per_tensor_quantized_tensor": [X.to(torch.uint8), 0.1, 3],
    "_masked_softmax": [HEADS, torch.zeros(2, 5).bool(), 3, 1],
    "_masked_softmax_backward": [X, X, MASK, 1],
    "_native_batch_norm_legit.no_stats": [BATCH, CHANNELS, CHANNELS, True, 0.1, 1e-5],
    "_native_batch_norm_legit_no_training": [BATCH, *[CHANNELS] * 4, 0.1, 1e-5],
    "_native_multi_head_attention": [*ATTENTION, square(8), torch.ones(8)],
    "_neg_view_copy": [X],
    "_nested_compute_contiguous_strides_offsets": [torch.tensor([[2, 3], [1, 3]])],
    "_nested_from_padded": [X[None], torch.tensor([[2, 3]])],
    "_nested_get_values_copy": [X],
    "_nested_tensor_from_mask": [X[None], torch.ones(1, 2).bool()],
    "_nested_tensor_from_mask_left_aligned": [X[None], torch.ones(1, 2).bool()],
    "_nested_tensor_from_tensor_list": [LISTS[1:]],
    "_nested_view_from_buffer_copy": [
        *(X.view(-1), torch.tensor([[1, 3]]), torch.tensor([[3, 1]]), OFFSETS[:1]),
    ],
    "_nested_view_from_jagged_copy": [X, OFFSETS, X],
    "_new_zeros_with_same_feature_meta": [X, Y],
    "_nnpack_spatial_convolution": [BATCH, KERNEL, BIAS, [1, 1]],
    "_padded_dense_to_jagged_forward": [BATCH[0], [OFFSETS], 2],
    "_philox_normal": [X, torch.tensor([1, 2])],
    "_philox_uniform": [X, torch.tensor([1, 2])],
    "_reshape_alias_copy": [X, [3, 2], [2, 1]],
    "_reshape_copy": [X, [3, 2]],
    "_resize_output": [X.clone(), [3, 2], torch.device("cpu")],
    "_sample_dirichlet": [Y],
    "_scaled_dot_product_flash_attention_for_cpu": [HEADS, HEADS, HEADS],
    "_scaled_dot_product_flash_attention_for_cpu_backward": [
        *([HEADS] * 5),
        *(torch.ones(2, 2, 5), 0.0, False),
    ],
    "_scaled_dot_product_fused_attention_overrideable": [HEADS, HEADS, HEADS],
    "_scaled_dot_product_fused_attention_overrideable_backward": [
        *([HEADS] * 5),
        *([True] * 4, HEADS, ONE, STARTS, STARTS, 5, 5, 0.0, False, ON, ON),
    ],
    "_scaled_mm_v2": [X, X.t(), [ONE], [0], [0], [ONE], [0], [0], None, None],
    "_slow_conv2d_backward.output_mask": [
        *(torch.ones(2, 3, 3, 3), BATCH, KERNEL, [3, 3], [1, 1], [0, 0], [True] * 3),
    ],
    "_slow_conv2d_forward": [BATCH, KERNEL, [3, 3], BIAS, [1, 1], [0, 0]],
    "_sparse_addmm": [square(2), square(2), square(2)],
    "_sparse_broadcast_to_copy": [X, [2, 3]],
    "_sparse_compressed_tensor_with_dims": [0, 0, [2, 3], [], I64],
    "_sparse_sum.dim": [X, [1]],
    "_spdiags": [X, torch.tensor([0, 1]), [3, 3]],
    "_stack": [[X, Y], 1],
    "_standard_gamma": [X],
    "_standard_gamma_grad": [X, Y],
    "_test_autograd_multiple_dispatch.fullcoverage": [X],
    "_test_autograd_multiple_dispatch_view_copy": [X],
    "_test_functorch_fallback": [X, Y],
    "_test_optional_filled_intlist": [torch.tensor([1, 2], dtype=I32), [3, 4]],
    "_test_optional_floatlist": [W, [3.0, 4.0]],
    "_test_optional_intlist": [torch.tensor([1, 2], dtype=I32), [3, 4]],
    "_test_parallel_materialize": [X, 2],
    "_test_warn_in_autograd": [X],
    "_to_sparse_bsc": [X, [1, 1]],
    "_to_sparse_bsr": [X, [1, 1]],
    "_to_sparse_csc": [X],
    "_to_sparse_csr": [X],
    "_transform_bias_rescale_qkv": [torch.rand(2, 5, 24), torch.ones(24), 2],
    "_transformer_encoder_layer_fwd": ENCODER,
    "_unique": [X],
    "_unsafe_index.Tensor": [X, [torch.tensor([0, 1])]],
    "_unsafe_index_put": [X, [torch.tensor([0, 1]), torch.tensor([2, 0])], W],
    "_upsample_bicubic2d_aa": [BATCH, [3, 3], False],
    "_upsample_bicubic2d_aa_backward": [BATCH, [5, 5], [2, 4, 7, 7], False],
    "_upsample_lanczos2d_aa": [BATCH, [3, 3], False],
    "_upsample_lanczos2d_aa_backward": [BATCH, [5, 5], [2, 4, 7, 7], False],
    "_upsample_nearest_exact2d": [BATCH, [3, 3]],
    "_upsample_nearest_exact2d_backward": [BATCH, [5, 5], [2, 4, 7, 7]],
    "_upsample_nearest_exact3d": [VOLUME, [3, 3, 3]],
    "_upsample_nearest_exact3d_backward": [VOLUME, [4, 5, 6], [2, 2, 7, 7, 7]],
    "_validate_compressed_sparse_indices": [True, ROWS, COLUMNS, 2, 3, 3],
    "_weight_int4pack_mm_for_cpu": [
        torch.ones(2, 64).bfloat16(),
        torch.ones(32, 32, dtype=torch.uint8),
        *(32, torch.ones(2, 32, 2).bfloat16()),
    ],
    "_weight_int8pack_mm": [X.bfloat16(), INT8, W.bfloat16()],
    "_weight_norm_interface": [X, W[:, None]],
    "_weight_norm_interface_backward": [X, X, W[:, None], W[:, None], 0],
    "affine_grid_generator": [X[None], [1, 1, 3, 3], False],
    "batch_norm_update_stats": [BATCH, CHANNELS, CHANNELS, 0.1],
    "bernoulli.Tensor": [X, X],
    "bernoulli.p": [X, 0.5],
    "binomial": [Y.round(), X],
    "bucketize.Scalar": [0.4, V.sort().values],
    "conv_tbc": [WORDS, torch.ones(3, 8, 4), torch.ones(4)],
    "convolution_backward_overrideable": [
        *(torch.ones(2, 3, 3, 3), *CONVOLUTION[:2], *CONVOLUTION[3:], [True] * 3),
    ],
    "convolution_overrideable": CONVOLUTION,
    "copy_sparse_to_sparse": [X, Y],
    "fake_quantize_per_channel_affine_cachemask": [X, W, ZEROS, 0, 0, 255],
    "fake_quantize_per_tensor_affine_cachemask": [X, 0.1, 0, 0, 255],
    "fft_fftfreq": [4],
    "fft_rfftfreq": [4],
    "fill.Tensor": [X, ONE],
    "from_file": ["/dev/null"],
    "glu_backward_jvp": [BATCH, BATCH[:, :2], BATCH, BATCH[:, :2], BATCH, 1],
    "glu_jvp": [BATCH[:, :2], BATCH, BATCH, 1],
    "hash_tensor": [X],
    "is_same_size": [X, Y],
    "is_set_to": [X, Y],
    "lift": [X],
    "linalg__powsum": [X, 2],
    "masked_scatter_backward": [X, MASK, [6]],
    "mkldnn_convolution": [BATCH, KERNEL, BIAS, [0, 0], [1, 1], [1, 1], 1],
    "mkldnn_rnn_layer": LAYER,
    "mkldnn_rnn_layer_backward": layer_backward(),
    "native_dropout": [X, 0.5, True],
    "norm.Scalar": [X, 2],
    "norm.ScalarOpt_dim_dtype": [X, 2, [1], False, {"dtype": F64}],
    "norm.ScalarOpt_dtype": [X, 2, {"dtype": F64}],
    "normal.float_Tensor": [0.5, X],
    "poisson": [X],
    "quantize_per_channel": [X, W, ZEROS, 0, torch.quint8],
    "quantize_per_tensor": [X, 0.1, 3, torch.quint8],
    "quantize_per_tensor.tensor_qparams": [X, ONE, ZEROS[0], torch.quint8],
    "quantize_per_tensor.tensors": [LISTS, W, ZEROS, torch.quint8],
    "quantize_per_tensor_dynamic": [X, torch.quint8, False],
    "rand_like": [X],
    "randint_like.Tensor": [X, torch.tensor(9)],
    "random": [X],
    "random.from": [X, 2, 9],
    "random.to": [X, 9],
    "randperm": [4],
    "range": [0, 4],
    "range.step": [0, 4, 2],
    "reflection_pad2d": [BATCH, [1, 2, 1, 1]],
    "reflection_pad2d_backward": [torch.ones(2, 4, 7, 8), BATCH, [1, 2, 1, 1]],
    "reflection_pad3d": [VOLUME, [1, 2, 1, 1, 1, 1]],
    "reflection_pad3d_backward": [
        *(torch.ones(2, 2, 6, 7, 9), VOLUME, [1, 2, 1, 1, 1, 1]),
    ],
    "replication_pad3d": [VOLUME, [1, 2, 1, 1, 1, 1]],
    "replication_pad3d_backward": [
        *(torch.ones(2, 2, 6, 7, 9), VOLUME, [1, 2, 1, 1, 1, 1]),
    ],
    "quantized_gru.data_legacy": [X, STARTS, X, LISTS, True, 1, 0.0, False, False],
    "quantized_gru.input_legacy": [X, X, LISTS, True, 1, 0.0, False, False, False],
    "quantized_lstm.data_legacy": [
        *(X, STARTS, LISTS, LISTS, True, 1, 0.0, False, False),
    ],
    "quantized_lstm.input_legacy": [
        *(X, LISTS, LISTS, True, 1, 0.0, False, False, False),
    ],
    "resize_as_sparse": [X, Y],
    "scatter.value_reduce": [X, 1, torch.zeros(2, 1).long(), 2.0, {"reduce": "add"}],
    "searchsorted.Scalar": [V.sort().values, 0.4],
    "set": [X.clone()],
    "set.source_Tensor": [X.clone(), Y],
    "slow_conv3d_forward": [VOLUME, KERNEL3, [3] * 3, BIAS, [1] * 3, [0] * 3],
    "slow_conv_dilated2d": [BATCH, KERNEL, [3, 3], BIAS, [1, 1], [0, 0], [2, 2]],
    "slow_conv_dilated3d": [VOLUME, KERNEL3, [3] * 3, BIAS, [1] * 3, [1] * 3],
    "slow_conv_transpose2d": [BATCH, KERNEL.transpose(0, 1).contiguous(), [3, 3], BIAS],
    "slow_conv_transpose3d": [
        *(VOLUME, KERNEL3.transpose(0, 1).contiguous(), [3] * 3, BIAS),
    ],
    "sparse_compressed_tensor.comp_plain_value": [
        *(ROWS, COLUMNS, V, {"layout": torch.sparse_csr}),
    ],
    "sparse_compressed_tensor.comp_plain_value_size": [
        *(ROWS, COLUMNS, V, [2, 3], {"layout": torch.sparse_csr}),
    ],
    "sparse_resize": [X, [2, 3], 2, 0],
    "sparse_resize_and_clear": [X, [2, 3], 2, 0],
    "sym_constrain_range": [2],
    "sym_constrain_range_for_size": [4],
    "to_mkldnn": [X],
    "unique_dim": [X, 1],
    "unique_dim_consecutive": [X, 1],
    "unsafe_split_with_sizes": [X, [1, 2], 1],
    "upsample_nearest3d": [VOLUME, [3, 3, 3]],
    "upsample_nearest3d_backward": [VOLUME, [4, 5, 6], [2, 2, 7, 7, 7]],
    "view_copy.dtype": [X, I32],
}
# An op of a tensor that is not dense, which a dense one is refused by.
OF_SPARSE = (
    *("_indices_copy", "_values_copy", "ccol_indices_copy", "col_indices_copy"),
    *("crow_indices_copy", "dense_dim", "dequantize.self", "indices_copy"),
    *("is_coalesced", "row_indices_copy", "sparse_dim", "values_copy"),
)
CALLS.update({name: [X] for name in OF_SPARSE})


def made_up(arguments):
    """Yield arguments for ops of elements, and for such as differ in an option."""
    for x in (X, LONG):
        values = []
        for argument in arguments:
            kind = str(argument.type)
            if kind == "Tensor":
                values.append(x)
            elif argument.has_default_value() or argument.name == "generator":
                values.append(argument.default_value)
            elif kind in ("List[int]", "List[SymInt]"):
                values.append([2, 3])
            else:
                values.append({"bool": True, "Optional[str]": None}.get(kind, 4))
        yield values


def samples_of(name, arguments):
    """Yield arguments and those by keyword, to be tried in turn."""
    found = CALLS.get(name.removeprefix("aten::"))
    for values in [found] if found is not None else made_up(arguments):
        options = {}
        while values and isinstance(values[-1], dict):
            *values, last = values
            options |= last
        positional = sum(not each.kwarg_only for each in arguments)
        names = [each.name for each in arguments[positional:]]
        options |= dict(zip(names, values[positional:], strict=False))
        yield values[:positional], options
