// RUN: ltc-opt %s --split-input-file --verify-diagnostics

func.func @dtype_and_type(%a: tensor<4xf32>) {
  // expected-error @+1 {{operand of dtype bool has type 'tensor<4xf32>'}}
  ltc.op "aten::x"(self = %a) : (tensor<4xf32> as bool) -> tensor<4xf32>
  return
}

// -----

func.func @result_dtype(%a: tensor<4xf32>) {
  // expected-error @+1 {{result of dtype i64 has type 'tensor<4xi32>'}}
  ltc.op "aten::x"(self = %a) : (tensor<4xf32>) -> (tensor<4xi32> as i64)
  return
}

// -----

func.func @unknown_dtype() {
  // expected-error @+1 {{no dtype is called 'float'}}
  ltc.op "aten::x"(dtype = #ltc.dtype<float>) : () -> tensor<4xf32>
  return
}

// -----

func.func @permutations(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{wants one permutation for each input}}
  ltc.call "aten::mm"(self = %a, mat2 = %a) {permutations = [array<i64: 1, 0>]}
    : (tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>)
  return
}
