// RUN: not ltc-opt %s --stop-after=optimize 2>&1 | FileCheck %s
//
// Every size is a number or a formula of symbols; the error names the op.

// CHECK: 'tensor.empty' op has the type 'tensor<?xf32>', and nothing says what its sizes are
func.func @main(%n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  return %e : tensor<?xf32>
}
