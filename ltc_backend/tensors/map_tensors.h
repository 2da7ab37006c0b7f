//===- tensors/map_tensors.h - The tensors of a boxed value -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace ltc::backend {

/// IValue::isOptionalTensorList() takes types by their address, and TorchScript
/// makes one anew for the indices of each x[i].
inline bool isOptionalTensorList(const c10::IValue &value) {
  return value.isOptionalTensorList() ||
         (value.isList() &&
          *value.toList().elementType() == *c10::OptionalType::ofTensor());
}

/// The value with f of every tensor in place of the tensor.
template <typename F> c10::IValue mapTensors(const c10::IValue &value, F f) {
  if (value.isTensor())
    return f(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor &tensor : value.toTensorVector())
      list.push_back(f(tensor));
    return list;
  }
  if (isOptionalTensorList(value)) {
    c10::List<std::optional<at::Tensor>> list;
    for (const c10::IValue &element : value.toListRef())
      list.push_back(element.isTensor() ? std::optional(f(element.toTensor()))
                                        : std::nullopt);
    return list;
  }
  return value;
}

/// f of every tensor. Counts no references: lists of parameters are long.
template <typename F> void forEachTensor(const c10::IValue &value, F f) {
  if (value.isTensor())
    f(value.toTensor());
  else if (value.isTensorList() || isOptionalTensorList(value))
    for (const c10::IValue &element : value.toListRef())
      if (element.isTensor())
        f(element.toTensor());
}

inline bool isListOfLists(const c10::IValue &value) {
  return value.isList() &&
         *value.toList().elementType() == *c10::ListType::ofTensors();
}

/// mapTensors(), in lists of lists too.
template <typename F> c10::IValue mapNested(const c10::IValue &value, F f) {
  if (!isListOfLists(value))
    return mapTensors(value, f);
  c10::impl::GenericList lists(c10::ListType::ofTensors());
  for (const c10::IValue &list : value.toListRef())
    lists.push_back(mapTensors(list, f));
  return lists;
}

/// forEachTensor(), in lists of lists too.
template <typename F> void forEachNested(const c10::IValue &value, F f) {
  if (!isListOfLists(value))
    return forEachTensor(value, f);
  for (const c10::IValue &list : value.toListRef())
    forEachTensor(list, f);
}

} // namespace ltc::backend
