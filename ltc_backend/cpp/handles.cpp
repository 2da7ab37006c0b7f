//===- cpp/handles.cpp - Where a module keeps its tensors -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/handles.h"

#include <torch/nn/modules.h>

namespace ltc::backend {
using at::Tensor;
using torch::nn::Module;

namespace {

using Dictionary = torch::OrderedDict<std::string, Tensor>;

/// An explicit instantiation may name what is private.
template <auto Parameters, auto Buffers> struct ModuleMembers {
  friend Dictionary &parametersOf(Module &module) { return module.*Parameters; }
  friend Dictionary &buffersOf(Module &module) { return module.*Buffers; }
};
Dictionary &parametersOf(Module &module);
Dictionary &buffersOf(Module &module);
template struct ModuleMembers<&Module::parameters_, &Module::buffers_>;

template <typename M>
concept IsRecurrent = std::is_base_of_v<torch::nn::detail::RNNImplBase<M>, M>;
/// Names a member that only subclasses may.
template <typename M> struct OfRecurrent : M {
  static auto weights() { return &OfRecurrent::flat_weights_; }
};

using Handles = std::vector<Tensor *>;

/// Those beside the dictionaries. Modules of a kind share the names of members.
template <typename M> void addMembers(M &m, Handles &to) {
  auto add = [&](auto &...handles) { (to.push_back(&handles), ...); };
  if constexpr (requires { m.weight; })
    add(m.weight);
  if constexpr (requires { m.bias; })
    add(m.bias);
  if constexpr (requires { m.pos_weight; })
    add(m.pos_weight, m.options.pos_weight());
  if constexpr (requires { m.running_mean; })
    add(m.running_mean, m.running_var, m.num_batches_tracked);
  if constexpr (requires { m.weight_ih; })
    add(m.weight_ih, m.weight_hh, m.bias_ih, m.bias_hh);
  if constexpr (requires { m.in_proj_weight; })
    add(m.in_proj_weight, m.in_proj_bias, m.bias_k, m.bias_v, m.q_proj_weight,
        m.k_proj_weight, m.v_proj_weight);
  if constexpr (requires { m._random_samples; })
    add(m._random_samples, m.options._random_samples());
  if constexpr (requires { m.options.weight(); })
    add(m.options.weight());
  if constexpr (requires { m.options._weight(); })
    add(m.options._weight());
  if constexpr (IsRecurrent<M>)
    for (Tensor &weight : m.*OfRecurrent<M>::weights())
      add(weight);
}

template <typename... Modules> void addFirst(Module &module, Handles &to) {
  auto addIf = [&](auto *found) {
    if (found)
      addMembers(*found, to);
    return found != nullptr;
  };
  (addIf(dynamic_cast<Modules *>(&module)) || ...);
}

/// Of libtorch's modules, all that keep tensors beside their dictionaries.
void addMembers(Module &module, Handles &to) {
  using namespace torch::nn;
  addFirst<LinearImpl, BilinearImpl, Conv1dImpl, Conv2dImpl, Conv3dImpl,
           ConvTranspose1dImpl, ConvTranspose2dImpl, ConvTranspose3dImpl,
           BatchNorm1dImpl, BatchNorm2dImpl, BatchNorm3dImpl,
           InstanceNorm1dImpl, InstanceNorm2dImpl, InstanceNorm3dImpl,
           LayerNormImpl, GroupNormImpl, EmbeddingImpl, EmbeddingBagImpl,
           PReLUImpl, MultiheadAttentionImpl, RNNImpl, LSTMImpl, GRUImpl,
           RNNCellImpl, LSTMCellImpl, GRUCellImpl, FractionalMaxPool2dImpl,
           FractionalMaxPool3dImpl, NLLLossImpl, CrossEntropyLossImpl,
           BCELossImpl, BCEWithLogitsLossImpl, MultiLabelSoftMarginLossImpl,
           MultiMarginLossImpl>(module, to);
}

void find(Module &module, const std::string &prefix, RegisteredTensors &found) {
  for (auto *dictionary : {&parametersOf(module), &buffersOf(module)})
    for (auto &item : *dictionary)
      if (item.value().defined()) {
        Registered &entry = found[item.value().unsafeGetTensorImpl()];
        if (entry.name.empty())
          entry.name = prefix + item.key();
        entry.handles.insert(&item.value());
      }
  Handles members;
  addMembers(module, members);
  for (Tensor *handle : members)
    if (auto entry = found.find(handle->unsafeGetTensorImpl());
        entry != found.end())
      entry->second.handles.insert(handle);
  for (auto &child : module.named_children())
    find(*child.value(), prefix + child.key() + ".", found);
}

} // namespace

RegisteredTensors findRegistered(Module &module) {
  RegisteredTensors found;
  find(module, "", found);
  return found;
}

} // namespace ltc::backend
