// RUN: ltc-opt %s --ltc-lower --split-input-file --verify-diagnostics

func.func @shape(%a: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error @+1 {{the row of aten::relu gives 'tensor<4xf32>', recorded was 'tensor<5xf32>'}}
  %0 = ltc.op "aten::relu"(self = %a) node 0 : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @results(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{the row of aten::_softmax gives 1 results, recorded were 2}}
  %0:2 = ltc.op "aten::_softmax"(self = %a, dim = 0 : i64) node 0 : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0 : tensor<4xf32>
}

// -----

func.func @unknown_size(%a: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{aten::sort is a library call, and the size of its result 'tensor<?xf32>' is not known}}
  %0 = ltc.op "aten::sort"(self = %a) node 0 : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
