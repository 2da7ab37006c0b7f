// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// An LSTM's gates are overwritten by their gradients, unless they are read once
// more; the other result never takes their place.

// CHECK-LABEL: func.func @main(
// CHECK:       ltc.call "ltc::lstm_layer_backward"(gates = %[[A:[a-z0-9_]+]], {{.*}} outs(%[[KEPT:[a-z0-9_]+]], %{{[a-z0-9_]+}} :
// CHECK:       ltc.call "ltc::lstm_layer_backward"(gates = %[[A]], {{.*}} outs(%[[A]], %[[CX:[a-z0-9_]+]] :
// CHECK:       ltc.call "ltc::lstm_layer_input"(grad_gates = %[[KEPT]],
// CHECK:       ltc.call "ltc::lstm_layer_input"(grad_gates = %[[A]],
func.func @main(%x: tensor<4x2x8xf32>, %h: tensor<2x16xf32>, %cx: tensor<2x16xf32>, %wi: tensor<64x8xf32>, %w: tensor<64x16xf32>, %bias: tensor<64xf32>, %g: tensor<4x2x16xf32>)
    -> (tensor<4x2x8xf32>, tensor<4x2x8xf32>) {
  %states = tensor.empty() : tensor<4x2x16xf32>
  %gates = tensor.empty() : tensor<1x4x2x64xf32>
  %cell = tensor.empty() : tensor<2x16xf32>
  %input = tensor.empty() : tensor<4x2x8xf32>
  %0:3 = ltc.call "ltc::lstm_layer"(input = %x, hx = %h, cx = %cx, input_weight = %wi, weight = %w, bias = %bias, reverse = false) node 0
    : (tensor<4x2x8xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<64x8xf32>, tensor<64x16xf32>, tensor<64xf32>)
    outs(%states, %states, %gates : tensor<4x2x16xf32>, tensor<4x2x16xf32>, tensor<1x4x2x64xf32>)
  %1:2 = ltc.call "ltc::lstm_layer_backward"(gates = %0#2, cells = %0#1, cx = %cx, weight = %w, grad_output = %g, grad_cy = %h, reverse = false) node 1
    : (tensor<1x4x2x64xf32>, tensor<4x2x16xf32>, tensor<2x16xf32>, tensor<64x16xf32>, tensor<4x2x16xf32>, tensor<2x16xf32>)
    outs(%gates, %cell : tensor<1x4x2x64xf32>, tensor<2x16xf32>)
  %2:2 = ltc.call "ltc::lstm_layer_backward"(gates = %0#2, cells = %0#1, cx = %cx, weight = %w, grad_output = %g, grad_cy = %1#1, reverse = false) node 2
    : (tensor<1x4x2x64xf32>, tensor<4x2x16xf32>, tensor<2x16xf32>, tensor<64x16xf32>, tensor<4x2x16xf32>, tensor<2x16xf32>)
    outs(%gates, %cell : tensor<1x4x2x64xf32>, tensor<2x16xf32>)
  %3 = ltc.call "ltc::lstm_layer_input"(grad_gates = %1#0, weight = %wi) node 3
    : (tensor<1x4x2x64xf32>, tensor<64x8xf32>) outs(%input : tensor<4x2x8xf32>)
  %4 = ltc.call "ltc::lstm_layer_input"(grad_gates = %2#0, weight = %wi) node 4
    : (tensor<1x4x2x64xf32>, tensor<64x8xf32>) outs(%input : tensor<4x2x8xf32>)
  return %3, %4 : tensor<4x2x8xf32>, tensor<4x2x8xf32>
}
