//===- overloads.h - Finds the siblings of an operator ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string_view>

namespace ltc::backend {

/// "aten::add.Tensor" in torch's dispatcher; nullopt if there is none.
std::optional<c10::OperatorHandle> findOperator(std::string_view name);

/// The overload with the same arguments and, after them, tensors to write the
/// results into, if it has a kernel of its own on that device. Other variants
/// are generated: they call `op` and copy.
std::optional<c10::OperatorHandle> nativeOut(const c10::OperatorHandle &op,
                                             c10::Device device);

/// Under which kernels for dense tensors of a device are registered.
c10::DispatchKey denseKeyOf(c10::Device device);

/// The overload that takes a Generator and otherwise the same arguments; `op`
/// itself if it takes one or if there is no such overload.
c10::OperatorHandle withGenerator(const c10::OperatorHandle &op);

bool isGenerator(const c10::Argument &argument);

} // namespace ltc::backend
