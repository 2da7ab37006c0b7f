//===- library.h - Where kernels are registered -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// A library of kernels for a namespace ("_" for all) and a dispatch key. Lives
/// as long as the process: kernels must not vanish under live tensors.
inline torch::Library *makeLibrary(const char *name, c10::DispatchKey key) {
  return new torch::Library(torch::Library::IMPL, name, key, __FILE__,
                            __LINE__);
}

/// What PyTorch keeps of those below, to say where a kernel was registered.
constexpr const char *kRegisteredBy = "torch_ltc";

/// Gives an op of ATen, `name` without namespace, a kernel that is never taken
/// back, on the key of the library. What Library::impl() keeps beside a kernel
/// (how to take it back, the schema that its C++ types say, where that was
/// written) takes 0.3 to 1 kB, and there are thousands.
void addKernel(torch::Library &library, std::string_view name,
               c10::KernelFunction kernel,
               std::optional<c10::impl::CppSignature> signature = {});

/// Puts a kernel in place of PyTorch's for all ops that have none on the key.
void replaceFallback(c10::DispatchKey key, c10::KernelFunction kernel);

/// All ops of ATen with their names, without namespace. They are found once,
/// and again after forgetAtenOps().
const std::vector<std::pair<c10::OperatorHandle, std::string>> &atenOps();
void forgetAtenOps();

/// Where ops of our own have kernels, for calls that no op of PyTorch's says as
/// a graph needs them. Lives as long as the process.
inline torch::Library &ownLibrary() {
  static auto *library = new torch::Library(
      torch::Library::FRAGMENT, "torch_ltc", std::nullopt, __FILE__, __LINE__);
  return *library;
}

/// Defines one that returns `results` tensors. PyTorch's parser of schemas,
/// which would take a line of text, is part of TorchScript.
inline void defineOwnOp(const std::string &name,
                        std::vector<c10::Argument> arguments, size_t results) {
  std::vector<c10::Argument> returns(results,
                                     c10::Argument("", c10::TensorType::get()));
  ownLibrary().def(c10::FunctionSchema(
      "torch_ltc::" + name, "", std::move(arguments), std::move(returns)));
}

} // namespace ltc::backend
