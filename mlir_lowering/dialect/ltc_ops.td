//===- ltc_ops.td - The ltc dialect ------------------------*- tablegen -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One ATen op as recorded, one library call, two checks, one symbolic size.
// Tensors have the element type they have in memory (element_type.h: bool is
// i8, integers are signless), so that no conversion stands between stages;
// the ltc::DType of every operand and result is kept beside the types.
//
//===----------------------------------------------------------------------===//
#ifndef LTC_OPS
#define LTC_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Ltc_Dialect : Dialect {
  let name = "ltc";
  let cppNamespace = "::ltc::compiler";
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// On arguments and results of a function whose dtype the element type
    /// does not tell: #ltc.dtype.
    static constexpr llvm::StringLiteral kDType = "ltc.dtype";
    /// On a function result: number of the argument whose memory it takes.
    static constexpr llvm::StringLiteral kDonates = "ltc.donates";
    /// On a function's argument: its sizes. On an op: those of each result.
    static constexpr llvm::StringLiteral kSizes = "ltc.sizes";
    /// On a module: the hint of each symbol of its graph.
    static constexpr llvm::StringLiteral kSymbols = "ltc.symbols";
    SizeTable sizes;
  }];
}

class Ltc_Attr<string name, string mnemonic_> : AttrDef<Ltc_Dialect, name> {
  let mnemonic = mnemonic_;
}

def Ltc_DTypeAttr : Ltc_Attr<"DType", "dtype"> {
  let summary = "an ltc::DType, by its name";
  let parameters = (ins "::ltc::DType":$value);
  let hasCustomAssemblyFormat = 1;
}

def Ltc_OperandAttr : Ltc_Attr<"Operand", "operand"> {
  let summary = "an argument that is the op's next operand";
}

def Ltc_OperandListAttr : Ltc_Attr<"OperandList", "operands"> {
  let summary = "an argument that is a list of the op's next operands";
  let description = "One flag an element: true takes an operand, false is None.";
  let parameters = (ins OptionalArrayRefParameter<"bool">:$present);
  let assemblyFormat = "(`<` $present^ `>`)?";
}

def Ltc_SizeAttr : Ltc_Attr<"Size", "size"> {
  let summary = "a formula of the graph's symbols, as Formula::str() writes it";
  let parameters = (ins StringRefParameter<>:$formula);
  let assemblyFormat = "`<` $formula `>`";
  let genVerifyDecl = 1;
}

class Ltc_Op<string mnemonic, list<Trait> traits = []>
    : Op<Ltc_Dialect, mnemonic, traits>;

// What ltc.op and ltc.call share: a node of an ltc::Graph. `names` are the
// schema's argument names in order; `values` has one element for each:
//   #ltc.operand, #ltc.operands<..>  an operand, a list of operands
//   unit                             None
//   true, 1 : i64, 1.0 : f64, "s"    bool, int, float, string
//   #ltc.dtype<f32>                  a dtype
//   array<i64: ..>, <f64>, <i1>      lists of these
//   #ltc.size<"2*s0">, [8, #ltc.size<"s0">]
//                                    an int, a list of them, with symbols
// Dtypes are the numbers of ltc::DType. `node` is the node's number in its
// graph, and the site that run-time errors report.
defvar Ltc_NodeArguments = (ins
  StrAttr:$callee,
  StrArrayAttr:$names,
  ArrayAttr:$values,
  DenseI8ArrayAttr:$operand_dtypes,
  DenseI8ArrayAttr:$result_dtypes,
  OptionalAttr<I64Attr>:$node);

def Ltc_OpOp : Ltc_Op<"op", [Pure]> {
  let summary = "an ATen op as the front end recorded it";
  let description = [{
    ```mlir
    %2 = ltc.op "aten::add.Tensor"(self = %0, other = %1, alpha = 1 : i64) node 0
        : (tensor<8x4xf32>, tensor<8x4xi8 as bool>) -> tensor<8x4xf32>
    %3 = ltc.op "aten::cat"(tensors = [%0, %2], dim = 0 : i64) node 1
        : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
    ```
  }];
  let arguments = !con(Ltc_NodeArguments, (ins Variadic<AnyType>:$inputs));
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Ltc_CallOp : Ltc_Op<"call", [
    DestinationStyleOpInterface, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a library kernel that writes into its destinations";
  let description = [{
    ```mlir
    %2 = ltc.call "aten::mm"(self = %0, mat2 = %1) node 4
        : (tensor<8x4xf32>, tensor<4x2xf32>) outs(%e : tensor<8x2xf32>)
    ```

    Every element of every destination is written, none is read, but that on
    memrefs an addmm may add to its destination, which is its `self` then. A call that
    `readsViews` may read a transposed operand in place: `permutations`, when
    present, has one list for each input (empty: as it is; dimension i of what
    the kernel sees is dimension list[i] of the operand). Bufferization turns them into
    memref.transpose views and drops the attribute, so that code generation
    sees only strided memrefs; on memrefs the op has no results.
  }];
  let arguments = !con(Ltc_NodeArguments, (ins
    OptionalAttr<ArrayAttr>:$permutations,
    Variadic<AnyType>:$inputs, Variadic<AnyShaped>:$outs));
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    /// The permutation of an input, empty when it is read as it is.
    llvm::ArrayRef<int64_t> permutationOf(unsigned input);
    /// Whether this kernel takes operands that are not dense: contractions,
    /// convolutions and attention do. Of the others many may not be given one,
    /// since PyTorch says contiguous() before it calls them, which does nothing
    /// to a lazy tensor.
    static bool readsViews(llvm::StringRef callee);
    /// Whether the kernel fails for some values of its operands, such as an
    /// index that is out of range. Of most kernels that is not known. One that
    /// does leaves alone what it would write over.
    bool mayFail();
  }];
}

// What a failed check leaves behind. It is an effect, so that a check outlives
// the read that it guards: one of a constant table folds to a number.
def Ltc_Report : Resource<"::ltc::compiler::ReportResource">;

// Not speculatable: hoisting one out of a loop that never runs would report an
// error the program does not have.
def Ltc_CheckIndexOp
    : Ltc_Op<"check_index", [MemoryEffects<[MemWrite<Ltc_Report>]>]> {
  let summary = "an index made safe, and reported when out of range";
  let description = [{
    ```mlir
    %safe = ltc.check_index %index, %bound {site = 3 : i64, wrap}
    ```

    The result is `index` when 0 <= index < bound; with `wrap`, an index in
    [-bound, 0) counts from the end. Otherwise ltc_index_error(site, index,
    bound) is called once and the result is 0.
  }];
  let arguments = (ins Index:$index, Index:$bound, I64Attr:$site,
                       UnitAttr:$wrap);
  let results = (outs Index:$result);
  let assemblyFormat = "$index `,` $bound attr-dict";
}

def Ltc_CheckDivisorOp
    : Ltc_Op<"check_divisor", [AllTypesMatch<["divisor", "result"]>,
                               MemoryEffects<[MemWrite<Ltc_Report>]>]> {
  let summary = "an integer divisor made safe, and reported when zero";
  let description = [{
    ```mlir
    %safe = ltc.check_divisor %divisor {site = 3 : i64} : i32
    ```

    The result is `divisor`. If that is 0, ltc_value_error(site) is called once
    and the result is 1.
  }];
  let arguments = (ins AnySignlessInteger:$divisor, I64Attr:$site);
  let results = (outs AnySignlessInteger:$result);
  let assemblyFormat = "$divisor attr-dict `:` type($divisor)";
}

def Ltc_CheckOp
    : Ltc_Op<"check", [AllTypesMatch<["value", "result"]>,
                       MemoryEffects<[MemWrite<Ltc_Report>]>]> {
  let summary = "a value, reported when something does not hold of it";
  let description = [{
    ```mlir
    %same = ltc.check %value, %holds "must not be negative" {site = 3 : i64}
      : f32
    ```

    The result is `value`. If `holds` is false, ltc_value_error is called with a
    number that stands for the site and the words.
  }];
  let arguments = (ins AnyType:$value, I1:$holds, StrAttr:$words,
                       I64Attr:$site);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `,` $holds $words attr-dict `:` type($value)";
}

def Ltc_SizeOp : Ltc_Op<"size", [Pure]> {
  let summary = "a size that depends on the graph's symbols";
  let description = [{
    ```mlir
    %n = ltc.size "4*s0*s1+3"
    ```
  }];
  let arguments = (ins StrAttr:$formula);
  let results = (outs Index:$result);
  let assemblyFormat = "$formula attr-dict";
  let hasVerifier = 1;
}

#endif // LTC_OPS
