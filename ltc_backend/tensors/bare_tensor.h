//===- tensors/bare_tensor.h - Tensors below functionalisation --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/pending.h"

#include <torch/csrc/lazy/core/tensor_impl.h>

namespace ltc::backend {

/// The tensor if it is an LTC tensor, or null.
torch::lazy::LTCTensorImpl *bareImpl(c10::TensorImpl &impl);
/// Of a tensor that addTensor() or makeTensor() made, as all LTC tensors of
/// this process are.
const std::shared_ptr<torch::lazy::LazyTensor::Data> &
sharedData(torch::lazy::LTCTensorImpl &impl);
TensorDataPtr bareData(const at::Tensor &bare);
int64_t deviceOf(const TensorData &data);

/// A new bare tensor, pending, that has yet to be given sizes (setLayout). With
/// the lock of the node's list.
at::Tensor addTensor(PendingList &list, std::shared_ptr<OpNode> node,
                     size_t index);
/// A new bare tensor for a result, or for device data.
at::Tensor makeTensor(std::shared_ptr<OpNode> node, size_t index,
                      const Layout &layout);
at::Tensor makeTensor(std::shared_ptr<DeviceData> data, int64_t device,
                      const Layout &layout = {});
at::Tensor makeTensor(const Operand &value, int64_t device,
                      const Layout &layout = {});

/// The tensor's value as an operand.
Operand operandOf(const TensorDataPtr &data);
/// The same, with the lock of the tensor's list.
Operand valueOf(TensorData &data);
/// The tensor's data, or null if it is pending. Another thread's sync may give
/// it data at any time.
std::shared_ptr<DeviceData> deviceData(const TensorData &data);
/// Gives a tensor a new value, and hands back the old one, to be let go of
/// without the lock. With the lock of the tensor's list.
void exchange(PendingList &list, TensorData &data, torch::lazy::Value &value);
/// Gives a tensor a new value.
void assign(const TensorDataPtr &data, const Operand &value);

} // namespace ltc::backend
