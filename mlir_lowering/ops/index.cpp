//===- index.cpp - Reads at computed positions ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes at computed positions (scatter, index_put, embedding's gradient) are
// library calls: their result depends on order where positions repeat.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

static Value embedding(Emit &e, const OpCall &op) {
  Value weight = op["weight"], ids = op["indices"];
  Shape shape = e.shape(ids);
  shape.push_back(e.shape(weight)[1]);
  Value rows = e.generate(shape, [&](Scalar s, llvm::ArrayRef<Value> at) {
    Value id = s.load(ids, at.drop_back());
    Value row = s.checkIndex(id, s.size(weight, 0));
    return s.load(weight, {row, at.back()});
  });
  return e.narrow(rows, op.result());
}

static Value gather(Emit &e, const OpCall &op) {
  Value x = op["self"], index = op["index"];
  int64_t dim = op.dim("dim");
  Value picked =
      e.generate(e.shape(index), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values from(at);
        from[dim] = s.checkIndex(s.load(index, at), s.size(x, dim));
        return s.load(x, from);
      });
  return e.narrow(picked, op.result());
}

static Value indexSelect(Emit &e, const OpCall &op) {
  Value x = op["self"], index = op["index"];
  int64_t dim = op.dim("dim");
  Value picked =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values from(at);
        Value position =
            index.rank() == 0 ? s.load(index, {}) : s.load(index, {at[dim]});
        from[dim] = s.checkIndex(position, s.size(x, dim));
        return s.load(x, from);
      });
  return e.narrow(picked, op.result());
}

namespace {
/// x[:, i, j] as NumPy has it: the index tensors broadcast to one shape, whose
/// dimensions stand where the indexed ones stood if these are neighbours, else
/// in front.
class AdvancedIndex {
public:
  explicit AdvancedIndex(const OpCall &op) : indices(op.list("indices")) {
    for (auto [dim, index] : llvm::enumerate(indices)) {
      if (!index)
        continue;
      if (count++ == 0)
        first = int64_t(dim);
      last = int64_t(dim);
      rank = std::max(rank, index.rank());
    }
    begin = last - first + 1 == count ? first : 0;
  }

  /// The position in x of the result's element at `at`.
  Values position(Scalar s, Value x, llvm::ArrayRef<Value> at) const {
    llvm::ArrayRef<Value> shared = at.slice(begin, rank);
    Values rest(at.take_front(begin));
    llvm::append_range(rest, at.drop_front(begin + rank));
    Values from;
    size_t next = 0;
    for (int64_t dim = 0; dim < x.rank(); ++dim) {
      Value index = dim < int64_t(indices.size()) ? indices[dim] : Value();
      if (index)
        from.push_back(s.checkIndex(read(s, index, shared), s.size(x, dim),
                                    /*wrap=*/true));
      else
        from.push_back(rest[next++]);
    }
    return from;
  }

private:
  static Value read(Scalar s, Value index, llvm::ArrayRef<Value> shared) {
    Values at(shared.take_back(index.rank()));
    for (auto [dim, position] : llvm::enumerate(at))
      if (index.size(dim) == 1)
        position = Value(0);
    return s.load(index, at);
  }

  const Values &indices;
  int64_t count = 0, first = 0, last = -1, rank = 0, begin = 0;
};
} // namespace

static Value index(Emit &e, const OpCall &op) {
  Value x = op["self"];
  AdvancedIndex advanced(op);
  Value picked =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        return s.load(x, advanced.position(s, x, at));
      });
  return e.narrow(picked, op.result());
}

static bool hasIntegerIndices(const OpCall &op) {
  bool any = false;
  for (Value index : op.list("indices")) {
    if (index && (index.dtype() == DType::Bool || index.dtype() == DType::U8))
      return false;
    any |= bool(index);
  }
  return any;
}

/// Whether indices broadcast to one shape whatever their symbolic sizes are.
static bool haveOneShape(const Values &indices) {
  for (Value a : indices)
    for (Value b : indices)
      for (int64_t i = 1; a && b && i <= std::min(a.rank(), b.rank()); ++i) {
        int64_t x = a.size(a.rank() - i), y = b.size(b.rank() - i);
        if ((isSymbolic(x) || isSymbolic(y)) && x != y && x != 1 && y != 1)
          return false;
      }
  return true;
}

static Value take(Emit &e, const OpCall &op) {
  Value x = e.flatten(op["self"]), index = op["index"];
  Value picked =
      e.generate(e.shape(index), [&](Scalar s, llvm::ArrayRef<Value> at) {
        return s.load(
            x, {s.checkIndex(s.load(index, at), s.size(x, 0), /*wrap=*/true)});
      });
  return e.narrow(picked, op.result());
}

/// 1 where a class is named. It has as many classes as the result says.
static Value oneHot(Emit &e, const OpCall &op) {
  Shape shape = e.shape(op.result());
  Value hot = e.generate(shape, [&](Scalar s, llvm::ArrayRef<Value> at) {
    Value named = s.load(op["self"], at.drop_back());
    named =
        s.checked(named, s.ge(named, 0), "Class values must be non-negative.");
    named = s.checked(named, s.lt(named, shape.back()),
                      "Class values must be smaller than num_classes.");
    return s.eq(named, at.back());
  });
  return e.narrow(hot, op.result());
}

/// A value as it is, once something is known to hold.
static Value checked(Emit &e, const OpCall &op) {
  Value holds = op["self"], value = op["dep_token"];
  Value same =
      e.generate(e.shape(value), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values one(holds.rank(), s.number(0, DType::I64));
        return s.checked(s.load(value, at), s.load(holds, one),
                         op.text("assert_msg"));
      });
  return e.narrow(same, op.result());
}

/// Whether a row of this would look at its indices. Eager's kernel looks at
/// them also where there is nothing to read.
static bool hasElements(const OpCall &op) {
  return !llvm::is_contained(op.result().sizes, 0);
}

void addIndexOps(OpTable &t) {
  t.structured("aten::one_hot", oneHot).anySize();
  t.structured("aten::_functional_assert_async.msg", checked).anySize();
  t.structured("aten::embedding", embedding).when(hasElements).anySize();
  t.structured("aten::gather", gather)
      .when([](const OpCall &op) {
        // A scalar stands for a vector of one element, on either side.
        return op["self"].rank() > 0 && op["index"].rank() == op["self"].rank();
      })
      .anySize();
  t.structured("aten::index_select", indexSelect)
      .when([](const OpCall &op) {
        return op["self"].rank() > 0 && hasElements(op);
      })
      .anySize();
  t.structured({"aten::index.Tensor", "aten::_unsafe_index.Tensor"}, index)
      .when([](const OpCall &op) {
        return hasIntegerIndices(op) && haveOneShape(op.list("indices"));
      })
      .anySize();
  t.structured("aten::take", take).anySize();
}

} // namespace ltc::compiler
