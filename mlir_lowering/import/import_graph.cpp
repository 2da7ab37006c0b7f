//===- import_graph.cpp - ltc::Graph to the ltc dialect ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/import/import.h"

#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

class Importer {
public:
  Importer(const Graph &graph, MLIRContext &context)
      : graph(graph), b(&context) {}

  OwningOpRef<ModuleOp> run();

private:
  void importNode(const Node &node, size_t number);
  mlir::Attribute importAttribute(const Attribute &attribute);
  /// A size of the graph as one of this context.
  int64_t importSize(int64_t size) {
    return sizeTable(b.getContext()).size(graph.formulaOf(size));
  }
  ArrayAttr importSizes(ArrayRef<int64_t> sizes) {
    SmallVector<int64_t> here;
    for (int64_t size : sizes)
      here.push_back(importSize(size));
    return sizesAttr(b, here);
  }
  Location locationOf(SourceId id);
  /// Notes the dtype where the type alone would be read as another.
  void noteDType(SmallVectorImpl<NamedAttribute> &notes, Type type,
                 DType dtype) {
    if (impliedDType(type) != dtype)
      notes.push_back(b.getNamedAttr(LtcDialect::kDType,
                                     DTypeAttr::get(b.getContext(), dtype)));
  }

  const Graph &graph;
  OpBuilder b;
  SmallVector<mlir::Value> values;
  SmallVector<DType> dtypes; ///< parallel to values
};

Location Importer::locationOf(SourceId id) {
  Source source = sourceOf(id);
  if (source.empty())
    return b.getUnknownLoc();
  Location place = FileLineColLoc::get(b.getStringAttr(source.file),
                                       source.line, /*column=*/0);
  if (source.function.empty())
    return place;
  return NameLoc::get(b.getStringAttr(source.function), place);
}

mlir::Attribute Importer::importAttribute(const Attribute &attribute) {
  if (auto *x = std::get_if<int64_t>(&attribute); x && isSymbolic(*x))
    return sizeAttr(b, importSize(*x));
  if (auto *x = std::get_if<std::vector<int64_t>>(&attribute);
      x && llvm::any_of(*x, isSymbolic))
    return importSizes(*x);
  struct Visitor {
    OpBuilder &b;
    mlir::Attribute operator()(std::monostate) { return b.getUnitAttr(); }
    mlir::Attribute operator()(bool x) { return b.getBoolAttr(x); }
    mlir::Attribute operator()(int64_t x) { return b.getI64IntegerAttr(x); }
    mlir::Attribute operator()(double x) { return b.getF64FloatAttr(x); }
    mlir::Attribute operator()(const std::string &x) {
      return b.getStringAttr(x);
    }
    mlir::Attribute operator()(DType x) {
      return DTypeAttr::get(b.getContext(), x);
    }
    mlir::Attribute operator()(const std::vector<int64_t> &x) {
      return b.getDenseI64ArrayAttr(x);
    }
    mlir::Attribute operator()(const std::vector<double> &x) {
      return b.getDenseF64ArrayAttr(x);
    }
    mlir::Attribute operator()(const std::vector<bool> &x) {
      return b.getDenseBoolArrayAttr(SmallVector<bool>(x.begin(), x.end()));
    }
  };
  return std::visit(Visitor{b}, attribute);
}

void Importer::importNode(const Node &node, size_t number) {
  SmallVector<mlir::Attribute> names, attributes;
  SmallVector<mlir::Value> inputs;
  SmallVector<int8_t> inputDTypes, resultDTypes;
  auto addInput = [&](ValueId id) {
    inputs.push_back(values[id]);
    inputDTypes.push_back(int8_t(dtypes[id]));
  };
  for (const Argument &argument : node.arguments) {
    names.push_back(b.getStringAttr(argument.name));
    if (auto *attribute = std::get_if<Attribute>(&argument.value)) {
      attributes.push_back(importAttribute(*attribute));
    } else if (auto *id = std::get_if<ValueId>(&argument.value)) {
      attributes.push_back(OperandAttr::get(b.getContext()));
      addInput(*id);
    } else {
      SmallVector<bool> present;
      for (ValueId id : std::get<std::vector<ValueId>>(argument.value)) {
        present.push_back(id != kNoValue);
        if (present.back())
          addInput(id);
      }
      attributes.push_back(OperandListAttr::get(b.getContext(), present));
    }
  }
  SmallVector<Type> types;
  SmallVector<mlir::Attribute> sizes;
  bool isStatic = true;
  for (const TensorType &type : node.results) {
    types.push_back(tensorType(b.getContext(), type));
    sizes.push_back(importSizes(type.dims));
    isStatic &= type.isStatic();
    resultDTypes.push_back(int8_t(type.dtype));
    dtypes.push_back(type.dtype);
  }
  auto op = OpOp::create(
      b, locationOf(node.source), types, b.getStringAttr(node.op),
      b.getArrayAttr(names), b.getArrayAttr(attributes),
      b.getDenseI8ArrayAttr(inputDTypes), b.getDenseI8ArrayAttr(resultDTypes),
      b.getI64IntegerAttr(number), inputs);
  if (!isStatic)
    op->setAttr(LtcDialect::kSizes, b.getArrayAttr(sizes));
  llvm::append_range(values, op.getResults());
}

OwningOpRef<ModuleOp> Importer::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToEnd(module->getBody());
  if (graph.isDynamic())
    module.get()->setAttr(LtcDialect::kSymbols,
                          b.getDenseI64ArrayAttr(graph.symbols));
  SmallVector<Type> inputs;
  for (const ValueType &type : graph.inputs)
    inputs.push_back(valueType(b.getContext(), type));
  auto main = func::FuncOp::create(b, b.getUnknownLoc(), "main",
                                   b.getFunctionType(inputs, {}));
  Block *entry = main.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  for (auto [index, type] : llvm::enumerate(graph.inputs)) {
    values.push_back(entry->getArgument(index));
    dtypes.push_back(type.tensor.dtype);
    SmallVector<NamedAttribute> notes;
    noteDType(notes, inputs[index], type.tensor.dtype);
    if (!type.tensor.isStatic())
      notes.push_back(
          b.getNamedAttr(LtcDialect::kSizes, importSizes(type.tensor.dims)));
    main.setArgAttrs(index, notes);
  }
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    importNode(node, number);

  SmallVector<mlir::Value> outputs;
  for (const GraphOutput &output : graph.outputs)
    outputs.push_back(values[output.value]);
  func::ReturnOp::create(b, b.getUnknownLoc(), outputs);
  SmallVector<Type> results(ValueRange(outputs).getTypes());
  main.setFunctionType(b.getFunctionType(inputs, results));
  for (auto [index, output] : llvm::enumerate(graph.outputs)) {
    SmallVector<NamedAttribute> notes;
    noteDType(notes, results[index], dtypes[output.value]);
    if (output.donated)
      notes.push_back(b.getNamedAttr(LtcDialect::kDonates,
                                     b.getI64IntegerAttr(*output.donated)));
    main.setResultAttrs(index, notes);
  }
  return module;
}

} // namespace

OwningOpRef<ModuleOp> importGraph(const Graph &graph, MLIRContext &context) {
  context.loadDialect<LtcDialect, func::FuncDialect>();
  return Importer(graph, context).run();
}

} // namespace ltc::compiler
