//===- tensors/op_info.cpp - What a schema says about an op ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/tensors/op_info.h"

#include <torch/csrc/lazy/core/config.h>

namespace ltc::backend {

static bool returnsTensors(const c10::FunctionSchema &schema) {
  for (const c10::Argument &result : schema.returns()) {
    auto list = result.type()->cast<c10::ListType>();
    auto type = list ? list->getElementType() : result.type();
    if (type->kind() != c10::TypeKind::TensorType)
      return false;
  }
  return !schema.returns().empty();
}

static std::string findFallbackReason(const OpInfo &info,
                                      const c10::OperatorHandle &handle) {
  if (!info.facts.has(OpFact::ShapeByCall) &&
      (handle.hasTag(at::Tag::data_dependent_output) ||
       handle.hasTag(at::Tag::dynamic_output_shape)))
    return "needs its input's values to know its result";
  if (info.facts.has(OpFact::ReadsValues))
    return "reads the value of a tensor at once";
  if (handle.schema().is_mutable())
    return "writes to its arguments";
  if (!returnsTensors(handle.schema()))
    return "returns something that is not a tensor";
  for (const ArgumentInfo &argument : info.arguments)
    if (argument.kind == ArgumentKind::Refused)
      return "has an argument, '" + argument.name +
             "', that a graph cannot hold";
  return "";
}

static std::optional<c10::OperatorHandle>
findView(const c10::FunctionSchema &schema) {
  constexpr std::string_view suffix = "_copy";
  std::string name = schema.name();
  if (!name.ends_with(suffix))
    return std::nullopt;
  name.resize(name.size() - suffix.size());
  auto view =
      c10::Dispatcher::singleton().findSchema({name, schema.overload_name()});
  if (!view || view->schema().arguments().empty())
    return std::nullopt;
  const c10::AliasInfo *alias = view->schema().arguments()[0].alias_info();
  return alias && !alias->isWrite() ? view : std::nullopt;
}

static std::optional<double> toNumber(const c10::IValue &value) {
  if (value.isDouble())
    return value.toDouble();
  if (value.isInt())
    return double(value.toInt());
  return std::nullopt;
}

/// The number that leaves out a part of the work.
static std::optional<double> initialOf(const OpInfo &info,
                                       const c10::Argument &argument) {
  if (argument.default_value())
    return toNumber(*argument.default_value());
  bool isOptional =
      argument.name() == "weight_decay" || argument.name() == "momentum";
  return info.facts.has(OpFact::FusedStep) && isOptional ? std::optional(0.0)
                                                         : std::nullopt;
}

bool ArgumentInfo::lifts(const c10::IValue &value) const {
  if (!liftable)
    return false;
  if (value.isList()) {
    for (const c10::IValue &element : value.toListRef())
      if (!toNumber(element))
        return false;
    return true;
  }
  std::optional<double> number = toNumber(value);
  // A sum of products does not look at what it would multiply by none.
  if (number == 0 && name == "beta")
    return false;
  return number && number != initial;
}

OpInfo::OpInfo(const c10::OperatorHandle &handle)
    : handle(handle), name(c10::toString(handle.operator_name())),
      kind(c10::Symbol::fromQualString(handle.operator_name().name)),
      facts(factsOf(name)), torchCounter(name) {
  for (const c10::Argument &argument : handle.schema().arguments()) {
    ArgumentKind kind = kindOf(argument);
    bool number = kind == ArgumentKind::Scalar ||
                  kind == ArgumentKind::ScalarList ||
                  kind == ArgumentKind::Float;
    arguments.push_back({argument.name(), kind,
                         number && !scalarIsAttribute(name, argument.name()),
                         initialOf(*this, argument)});
  }
  random = handle.hasTag(at::Tag::nondeterministic_seeded) &&
           !facts.has(OpFact::Deterministic);
  if (auto index = handle.schema().argumentIndexWithName("check_errors"))
    errorCheck = size_t(*index);
  makesLike = !arguments.empty() && arguments[0].kind == ArgumentKind::Tensor &&
              std::ranges::any_of(arguments, [](const ArgumentInfo &argument) {
                return argument.name == "device";
              });
  view = findView(handle.schema());
  fallbackReason = findFallbackReason(*this, handle);
}

std::shared_ptr<const CallShape> OpInfo::findCall(Hash128 key) const {
  std::lock_guard lock(mutex);
  auto found = calls.find(key);
  return found == calls.end() ? nullptr : found->second;
}

void OpInfo::rememberCall(Hash128 key,
                          std::shared_ptr<const CallShape> call) const {
  // An op whose attributes never repeat (slice bounds of a long loop) must not
  // grow without end; a refill costs one meta call each.
  constexpr size_t kMaxCalls = 4096;
  std::lock_guard lock(mutex);
  if (calls.size() >= kMaxCalls)
    calls.clear();
  calls.emplace(key, std::move(call));
}

void OpInfo::forgetCalls() const {
  std::lock_guard lock(mutex);
  calls.clear();
}

void OpInfo::countFallback() const {
  counter("record.fallback." + name).add();
  torchCounter.AddValue(1);
}

torch::lazy::CounterData &OpInfo::makeRecorded() const {
  std::string_view plain = handle.schema().name();
  if (plain.starts_with("aten::"))
    plain.remove_prefix(6);
  std::shared_ptr<torch::lazy::CounterData> data;
  torch::lazy::MetricsArena::Get()->RegisterCounter(
      "lazy::" + std::string(plain), &data);
  recorded.store(data.get(), std::memory_order_release);
  return *data; // the arena keeps it
}

bool OpInfo::isForcedToHost() const {
  const std::string &forced = torch::lazy::getLTCForceFallback();
  return !forced.empty() &&
         (forced == handle.schema().name() || forced == name);
}

namespace {
struct Infos {
  std::mutex mutex;
  std::unordered_map<c10::OperatorName, std::unique_ptr<OpInfo>> known;
  std::vector<std::unique_ptr<OpInfo>> forgotten;
};
} // namespace

static Infos &infos() {
  static auto *all = new Infos;
  return *all;
}

const OpInfo &opInfo(const c10::OperatorHandle &handle) {
  std::lock_guard lock(infos().mutex);
  auto &info = infos().known[handle.operator_name()];
  if (!info)
    info = std::make_unique<OpInfo>(handle);
  return *info;
}

void forgetAllCalls() {
  std::lock_guard lock(infos().mutex);
  for (const auto &known : infos().known)
    known.second->forgetCalls();
}

void forgetOpInfo(const c10::OperatorName &name) {
  std::lock_guard lock(infos().mutex);
  if (auto found = infos().known.extract(name))
    infos().forgotten.push_back(std::move(found.mapped()));
}

const OpInfo &opInfo(const char *name, const char *overload) {
  return opInfo(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload));
}

} // namespace ltc::backend
