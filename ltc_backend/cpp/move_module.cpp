//===- cpp/move_module.cpp - Modules to the device and back ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/optimizer_state.h"

#include "ltc_backend/cpp/ltc.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"

#include <torch/csrc/autograd/variable.h>

namespace ltc::inline v0 {
namespace {
using at::Tensor;
using backend::Registered;

[[noreturn]] void refuse(const Registered &entry, const std::string &what,
                         const std::string &hint) {
  backend::raise({ErrorCode::InvalidArgument,
                  Stage::Record,
                  "ltc::to() cannot move '" + entry.name + "': " + what,
                  "",
                  {},
                  hint});
}

/// Nobody may be left behind with the old tensor.
void check(const Registered &entry) {
  const Tensor &tensor = **entry.handles.begin();
  size_t elsewhere = tensor.use_count() - entry.handles.size();
  if (elsewhere)
    refuse(entry,
           std::to_string(elsewhere) +
               (elsewhere == 1 ? " handle of it is" : " handles of it are") +
               " kept elsewhere, and would stay with the old tensor",
           "name optimizers in the third argument and members of your own "
           "modules in the fourth, drop other copies, and move a module before "
           "its forward pass");
  // Buffers may have no part in autograd.
  if (!torch::autograd::impl::get_autograd_meta(tensor))
    return;
  bool hasHooks = !torch::autograd::impl::hooks(tensor).empty() ||
                  torch::autograd::impl::post_acc_grad_hooks(tensor);
  if (hasHooks)
    refuse(entry, "it has hooks", "register them after the move");
}

Tensor moveTensor(const Tensor &tensor, c10::Device device) {
  Tensor moved = tensor.detach().to(device);
  if (tensor.requires_grad())
    moved.requires_grad_();
  if (tensor.grad().defined())
    moved.mutable_grad() = tensor.grad().detach().to(device);
  return moved;
}

bool isThere(const Tensor &tensor, c10::Device device) {
  return tensor.device().type() == device.type() &&
         (!device.has_index() || tensor.device() == device);
}

} // namespace

void to(torch::nn::Module &module, c10::Device device,
        const std::vector<torch::optim::Optimizer *> &optimizers,
        const std::vector<Tensor *> &handles) {
  initialize();
  if (device.is_lazy())
    device.set_index(c10::DeviceIndex(
        device.has_index() ? device.index() : backend::currentDevice()));
  backend::RegisteredTensors found = backend::findRegistered(module);
  std::erase_if(found, [&](const auto &item) {
    return isThere(**item.second.handles.begin(), device);
  });
  for (torch::optim::Optimizer *optimizer : optimizers) {
    backend::addHandles(*optimizer, found);
    backend::checkState(*optimizer);
  }
  for (Tensor *handle : handles)
    if (auto entry = found.find(handle->unsafeGetTensorImpl());
        entry != found.end())
      entry->second.handles.insert(handle);
  for (const auto &item : found)
    check(item.second);
  at::NoGradGuard noGrad;
  for (auto &[impl, entry] : found)
    entry.moved = moveTensor(**entry.handles.begin(), device);
  for (torch::optim::Optimizer *optimizer : optimizers)
    backend::moveState(*optimizer, found);
  for (auto &[impl, entry] : found)
    for (Tensor *handle : entry.handles)
      *handle = entry.moved;
}

} // namespace ltc::inline v0
