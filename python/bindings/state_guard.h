//===- state_guard.h - Whether Python's objects are as before ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The objects that a frozen step's function leads to, and its arguments, are
// compared with what they were when it was recorded: by identity, and plain
// values by value. python/torch_ltc/freezing/reachable.py lists them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <vector>

namespace ltc::python {

/// A value as it was. Floats may be inputs of the step: then they only have to
/// stay what no `if x:` tells apart.
struct KnownValue {
  pybind11::object value;
  std::optional<size_t> leaf; ///< number among the step's floats
  bool isVariable = false;

  /// Whether it still is that; notes a float in its place.
  bool isNow(PyObject *now, std::vector<double> &leaves) const;
};

class StateGuard {
public:
  /// Rows of (kind, container, keys, values, numbers of floats or None).
  StateGuard(const pybind11::list &rows, const std::vector<bool> &variable);
  /// False if anything has changed.
  bool read(std::vector<double> &leaves) const;

private:
  enum Kind { Dict, Names, List, Cell, Attributes, Set, Tensor, Host };
  struct Row {
    Kind kind;
    pybind11::object container;
    std::vector<pybind11::object> keys;
    std::vector<KnownValue> values;
  };
  /// A dictionary without floats, as it was when its row was last compared.
  struct Seen {
    PyObject *dict;
    uint64_t version;
    size_t row;
  };
  struct TensorRow {
    at::Tensor tensor;
    bool isHost = false;
    bool isRead = false; ///< a CPU tensor that is only read
    bool requiresGrad = false;
    uint32_t hooks = 0;
    int64_t version = 0; ///< of that

    bool isSame() const;
  };
  void addTensor(const at::Tensor &tensor, bool isHost, bool isRead);
  static bool isSame(const Row &row, std::vector<double> &leaves);

  std::vector<Row> rows;          ///< those of `seen` come last
  size_t unseen = 0;              ///< the others
  mutable std::vector<Seen> seen; ///< under the GIL
  std::vector<TensorRow> tensors;
  const uint64_t modes;
};

class ArgumentGuard {
public:
  /// A tree of ("tensor", like), ("host", like), ("value", v, leaf or None),
  /// ("list" or "tuple", children) and ("dict", keys, children).
  ArgumentGuard(const pybind11::object &tree,
                const std::vector<bool> &variable);
  /// False if these are other arguments. Adds the tensors and floats in them.
  bool read(const pybind11::tuple &args, const pybind11::dict &kwargs,
            std::vector<at::Tensor> &tensors, std::vector<at::Tensor> &hosts,
            std::vector<double> &leaves) const;

private:
  struct Tree {
    enum Kind { Tensor, Host, Value, List, Tuple, Dict } kind;
    at::ScalarType type{};
    std::vector<int64_t> sizes, strides;
    KnownValue value;
    std::vector<pybind11::object> keys;
    std::vector<Tree> children;
  };
  struct Found {
    std::vector<at::Tensor> &tensors, &hosts;
    std::vector<double> &leaves;
  };
  static Tree parse(const pybind11::handle &object,
                    const std::vector<bool> &variable);
  static bool read(const Tree &tree, PyObject *object, Found &found);

  Tree tree; ///< a tuple of args and kwargs
  const size_t leafCount;
};

} // namespace ltc::python
