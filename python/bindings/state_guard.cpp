//===- state_guard.cpp - Whether Python's objects are as before -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "state_guard.h"

#include <ATen/Context.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <bit>
#include <cmath>

namespace py = pybind11;

namespace ltc::python {

/// What no test of a number such as `if momentum:` tells apart.
static int kindOf(double number) {
  return std::isfinite(number) ? (number > 0) - (number < 0) : 2;
}

static bool isEqual(PyObject *now, PyObject *then) {
  if (PyFloat_CheckExact(then))
    return std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(now)) ==
           std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(then));
  bool isPlain = PyLong_CheckExact(then) || PyUnicode_CheckExact(then) ||
                 PyBytes_CheckExact(then) || PyComplex_CheckExact(then);
  if (!isPlain)
    return false;
  int same = PyObject_RichCompareBool(now, then, Py_EQ);
  if (same < 0)
    PyErr_Clear();
  return same == 1;
}

static bool isEqualTuple(PyObject *now, PyObject *then) {
  if (PyTuple_GET_SIZE(now) != PyTuple_GET_SIZE(then))
    return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(then); ++i) {
    PyObject *a = PyTuple_GET_ITEM(now, i), *b = PyTuple_GET_ITEM(then, i);
    if (a != b && !(Py_TYPE(a) == Py_TYPE(b) && isEqual(a, b)))
      return false;
  }
  return true;
}

/// The same method of the same object: each access makes another one.
static bool isEqualMethod(PyObject *now, PyObject *then) {
  return PyMethod_GET_SELF(now) == PyMethod_GET_SELF(then) &&
         PyMethod_GET_FUNCTION(now) == PyMethod_GET_FUNCTION(then);
}

bool KnownValue::isNow(PyObject *now, std::vector<double> &leaves) const {
  PyObject *then = value.ptr();
  if (leaf) {
    if (!PyFloat_CheckExact(now))
      return false;
    double number = PyFloat_AS_DOUBLE(now);
    leaves[*leaf] = number;
    return now == then ||
           (isVariable && kindOf(number) == kindOf(PyFloat_AS_DOUBLE(then))) ||
           isEqual(now, then);
  }
  if (now == then)
    return true;
  if (!now || Py_TYPE(now) != Py_TYPE(then))
    return false;
  if (PyTuple_CheckExact(then))
    return isEqualTuple(now, then);
  if (PyMethod_Check(then))
    return isEqualMethod(now, then);
  return isEqual(now, then);
}

static std::vector<KnownValue> knownFrom(const py::handle &values,
                                         const py::handle &leaves,
                                         const std::vector<bool> &variable) {
  std::vector<KnownValue> known;
  auto numbers = py::reinterpret_borrow<py::list>(leaves);
  size_t i = 0;
  for (py::handle value : values) {
    auto leaf = numbers[i++].cast<std::optional<size_t>>();
    known.push_back({py::reinterpret_borrow<py::object>(value), leaf,
                     leaf && variable[*leaf]});
  }
  return known;
}

/// Modes of the thread and the process that change what calls do.
static uint64_t modesNow() {
  uint64_t modes = 0;
  auto add = [&](uint64_t value, int bits) { modes = modes << bits | value; };
  add(at::GradMode::is_enabled(), 1);
  add(c10::InferenceMode::is_enabled(), 1);
  // Of lazy tensors autocast is XLA's (record/ops/autocast.h).
  for (at::DeviceType type : {at::kXLA, at::kCPU}) {
    add(at::autocast::is_autocast_enabled(type), 1);
    add(uint64_t(at::autocast::get_autocast_dtype(type)), 8);
  }
  add(at::autocast::is_autocast_cache_enabled(), 1);
  add(at::globalContext().deterministicAlgorithms(), 1);
  add(uint64_t(c10::get_default_dtype_as_scalartype()), 8);
  add(torch::autograd::AnomalyMode::is_enabled(), 1);
  add(c10::impl::TorchDispatchModeTLS::any_modes_set(), 1);
  add(at::impl::PythonTorchFunctionTLS::stack_len() > 0, 1);
  return modes;
}

static uint32_t hooksOf(const at::Tensor &tensor) {
  auto *meta = torch::autograd::impl::get_autograd_meta(tensor);
  return meta ? uint32_t(2 * meta->hooks_.size()) +
                    (meta->post_acc_grad_hooks_ ? 1 : 0)
              : 0;
}

/// A number that each change of a dictionary changes; 0 where CPython has none
/// any more.
static uint64_t versionOf(PyObject *dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject *>(dict)->ma_version_tag;
#else
  return 0;
#endif
}

static bool hasFloats(const std::vector<KnownValue> &values) {
  return std::ranges::any_of(
      values, [](const KnownValue &value) { return value.leaf.has_value(); });
}

void StateGuard::addTensor(const at::Tensor &tensor, bool isHost, bool isRead) {
  TensorRow &row = tensors.emplace_back();
  row.tensor = tensor;
  row.isHost = isHost;
  row.isRead = isRead && !tensor.is_inference();
  row.requiresGrad = tensor.requires_grad();
  row.hooks = hooksOf(tensor);
  row.version = row.isRead ? tensor._version() : 0;
}

StateGuard::StateGuard(const py::list &given, const std::vector<bool> &variable)
    : modes(modesNow()) {
  static const std::vector<std::string> kinds{
      "dict", "names", "list", "cell", "attributes", "set", "tensor", "host"};
  std::vector<Row> dicts;
  for (py::handle item : given) {
    auto tuple = py::reinterpret_borrow<py::tuple>(item);
    auto found = std::ranges::find(kinds, tuple[0].cast<std::string>());
    const auto kind = Kind(found - kinds.begin());
    if (kind == Tensor || kind == Host) {
      // Those that count have no values here.
      addTensor(THPVariable_Unpack(tuple[1].ptr()), kind == Host,
                kind == Host && py::len(tuple[3]) != 0);
      continue;
    }
    Row row{kind, tuple[1], {}, knownFrom(tuple[3], tuple[4], variable)};
    for (py::handle key : tuple[2])
      row.keys.push_back(py::reinterpret_borrow<py::object>(key));
    const bool isDict = kind == Dict || kind == Names;
    (isDict && !hasFloats(row.values) ? dicts : rows).push_back(std::move(row));
  }
  unseen = rows.size();
  for (Row &row : dicts) {
    // Not compared yet: no dictionary has this number.
    seen.push_back({row.container.ptr(), 0, rows.size()});
    rows.push_back(std::move(row));
  }
}

bool StateGuard::TensorRow::isSame() const {
  if (isHost)
    return !isRead || tensor._version() == version;
  return tensor.requires_grad() == requiresGrad && hooksOf(tensor) == hooks;
}

bool StateGuard::isSame(const Row &row, std::vector<double> &leaves) {
  PyObject *container = row.container.ptr();
  switch (row.kind) {
  case Dict: {
    if (size_t(PyDict_GET_SIZE(container)) != row.values.size())
      return false;
    Py_ssize_t position = 0;
    PyObject *key = nullptr, *value = nullptr;
    for (size_t i = 0; PyDict_Next(container, &position, &key, &value); ++i)
      if (key != row.keys[i].ptr() || !row.values[i].isNow(value, leaves))
        return false;
    return true;
  }
  case Names:
    for (size_t i = 0; i < row.values.size(); ++i)
      if (PyObject *now = PyDict_GetItem(container, row.keys[i].ptr());
          !now || !row.values[i].isNow(now, leaves))
        return false;
    return true;
  case List:
    if (size_t(PyList_GET_SIZE(container)) != row.values.size())
      return false;
    for (size_t i = 0; i < row.values.size(); ++i)
      if (!row.values[i].isNow(PyList_GET_ITEM(container, i), leaves))
        return false;
    return true;
  case Cell: {
    PyObject *now = PyCell_GET(container);
    return now && row.values[0].isNow(now, leaves);
  }
  case Attributes:
    for (size_t i = 0; i < row.values.size(); ++i) {
      auto now = py::reinterpret_steal<py::object>(
          PyObject_GetAttr(container, row.keys[i].ptr()));
      if (!now)
        PyErr_Clear();
      if (!now || !row.values[i].isNow(now.ptr(), leaves))
        return false;
    }
    return true;
  case Set:
    return PyObject_RichCompareBool(container, row.values[0].value.ptr(),
                                    Py_EQ) == 1;
  case Tensor:
  case Host:
    break; // have no rows here
  }
  return false;
}

bool StateGuard::read(std::vector<double> &leaves) const {
  if (modesNow() != modes)
    return false;
  for (size_t i = 0; i < unseen; ++i)
    if (!isSame(rows[i], leaves))
      return false;
  for (Seen &one : seen) {
    const uint64_t now = versionOf(one.dict);
    if (now != 0 && now == one.version)
      continue;
    if (!isSame(rows[one.row], leaves))
      return false;
    one.version = now;
  }
  return std::ranges::all_of(tensors, &TensorRow::isSame);
}

ArgumentGuard::ArgumentGuard(const py::object &object,
                             const std::vector<bool> &variable)
    : tree(parse(object, variable)), leafCount(variable.size()) {}

ArgumentGuard::Tree ArgumentGuard::parse(const py::handle &object,
                                         const std::vector<bool> &variable) {
  auto row = py::reinterpret_borrow<py::tuple>(object);
  auto kind = row[0].cast<std::string>();
  Tree tree{};
  if (kind == "value") {
    tree.kind = Tree::Value;
    auto leaf = row[2].cast<std::optional<size_t>>();
    tree.value = {row[1], leaf, leaf && variable[*leaf]};
  } else if (kind == "tensor" || kind == "host") {
    tree.kind = kind == "host" ? Tree::Host : Tree::Tensor;
    auto like = py::cast<at::Tensor>(row[1]);
    tree.type = like.scalar_type();
    tree.sizes = like.sizes().vec();
    tree.strides = like.strides().vec();
  } else {
    tree.kind = kind == "list"    ? Tree::List
                : kind == "tuple" ? Tree::Tuple
                                  : Tree::Dict;
    for (py::handle child : row[1])
      tree.children.push_back(parse(child, variable));
    if (tree.kind == Tree::Dict)
      for (py::handle key : row[2])
        tree.keys.push_back(py::reinterpret_borrow<py::object>(key));
  }
  return tree;
}

bool ArgumentGuard::read(const Tree &tree, PyObject *object, Found &found) {
  switch (tree.kind) {
  case Tree::Value:
    return tree.value.isNow(object, found.leaves);
  case Tree::Tensor:
  case Tree::Host: {
    if (!THPVariable_CheckExact(object))
      return false;
    const at::Tensor &tensor = THPVariable_Unpack(object);
    (tree.kind == Tree::Host ? found.hosts : found.tensors).push_back(tensor);
    return tensor.device().is_lazy() == (tree.kind == Tree::Tensor) &&
           tensor.layout() == c10::kStrided && !tensor.requires_grad() &&
           tensor.scalar_type() == tree.type && tensor.sizes() == tree.sizes &&
           tensor.strides() == tree.strides;
  }
  case Tree::List:
    if (!PyList_CheckExact(object) ||
        size_t(PyList_GET_SIZE(object)) != tree.children.size())
      return false;
    for (size_t i = 0; i < tree.children.size(); ++i)
      if (!read(tree.children[i], PyList_GET_ITEM(object, i), found))
        return false;
    return true;
  case Tree::Tuple:
    if (!PyTuple_CheckExact(object) ||
        size_t(PyTuple_GET_SIZE(object)) != tree.children.size())
      return false;
    for (size_t i = 0; i < tree.children.size(); ++i)
      if (!read(tree.children[i], PyTuple_GET_ITEM(object, i), found))
        return false;
    return true;
  case Tree::Dict:
    if (!PyDict_CheckExact(object) ||
        size_t(PyDict_GET_SIZE(object)) != tree.children.size())
      return false;
    for (size_t i = 0; i < tree.children.size(); ++i) {
      PyObject *value = PyDict_GetItem(object, tree.keys[i].ptr());
      if (!value || !read(tree.children[i], value, found))
        return false;
    }
    return true;
  }
  return false;
}

bool ArgumentGuard::read(const py::tuple &args, const py::dict &kwargs,
                         std::vector<at::Tensor> &tensors,
                         std::vector<at::Tensor> &hosts,
                         std::vector<double> &leaves) const {
  leaves.assign(leafCount, 0);
  Found found{tensors, hosts, leaves};
  return read(tree.children[0], args.ptr(), found) &&
         read(tree.children[1], kwargs.ptr(), found);
}

} // namespace ltc::python
