//===- checks/linalg_check.cpp - Errors of linear algebra -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/linalg_check.h"

#include "ltc/settings.h"
#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/library.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/tensors/lazy_tensor.h"

#include <ATen/ATen.h>

namespace ltc::backend {

static at::Tensor checkErrors(const at::Tensor &info, c10::string_view api,
                              bool isMatrix) {
  at::_linalg_check_errors(info, api, isMatrix);
  return at::zeros({}, info.options().dtype(at::kByte));
}

/// The factors and `info` are results of the graph that runs here; the error is
/// none of it, so that a program may catch it and go on with what it had.
static void checkNow(const std::vector<c10::IValue> &arguments) {
  SyncCause cause(profile::Cause::LinalgCheck, arguments[1].toStringRef());
  at::_linalg_check_errors(toCpu(arguments[0].toTensor()),
                           arguments[1].toStringRef(), arguments[2].toBool());
}

static void recordCheck(const c10::OperatorHandle &op,
                        torch::jit::Stack *stack) {
  static const OpInfo &check = opInfo("torch_ltc::linalg_check_errors", "");
  auto arguments = torch::jit::pop(*stack, op.schema().arguments().size());
  if (settings().linalg_errors == "now" && !settings().dry_run)
    return checkNow(arguments);
  at::Tensor result = recordOne(check, std::move(arguments));
  TensorDataPtr data = tensorData(result);
  PendingList &list = pendingList(deviceOf(*data));
  std::lock_guard lock(list.mutex);
  // Without a node, a sync has run it already.
  if (data->ir_value.node)
    list.checks.push_back(
        std::static_pointer_cast<OpNode>(data->ir_value.node));
}

bool checksErrors(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments) {
  return info.errorCheck && arguments[*info.errorCheck].toBool();
}

/// What eager's kernel calls itself.
static std::string apiName(const OpInfo &info) {
  std::string name = info.name.substr(info.name.find("linalg_"));
  name.replace(name.find('_'), 1, ".");
  bool isBare = name == "linalg.inv_ex" || name == "linalg.cholesky_ex";
  return isBare ? name : "torch." + name;
}

void recordChecked(const OpInfo &info, torch::jit::Stack &stack) {
  size_t count = info.arguments.size();
  bool isMatrix = torch::jit::peek(stack, 0, count).toTensor().dim() == 2;
  torch::jit::peek(stack, *info.errorCheck, count) = false;
  record(info, stack);
  const auto &returns = info.handle.schema().returns();
  for (size_t i = 0; i < returns.size(); ++i)
    if (returns[i].name() == "info")
      at::_linalg_check_errors(
          torch::jit::peek(stack, i, returns.size()).toTensor(), apiName(info),
          isMatrix);
}

void registerLinalgCheck(torch::Library &library) {
  defineOwnOp("linalg_check_errors",
              {{"info", c10::TensorType::get()},
               {"api_name", c10::StringType::get()},
               {"is_matrix", c10::BoolType::get()}},
              /*results=*/1);
  ownLibrary().impl("linalg_check_errors",
                    torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd,
                                    checkErrors));
  library.impl("_linalg_check_errors",
               torch::CppFunction::makeFromBoxedFunction<&recordCheck>());
}

} // namespace ltc::backend
