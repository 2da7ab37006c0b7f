// RUN: not ltc-opt %s --stop-after=optimize 2>&1 | FileCheck %s
//
// Code is made for static shapes only; the error names the op.

// CHECK: 'tensor.empty' op has the dynamic type 'tensor<?xf32>'
func.func @main(%n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  return %e : tensor<?xf32>
}
