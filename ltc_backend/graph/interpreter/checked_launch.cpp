//===- interpreter/checked_launch.cpp - Launches that are checked ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/interpreter/checked_launch.h"

#include "ltc/graph_name.h"
#include "ltc/log.h"
#include "ltc/settings.h"
#include "ltc_backend/convert.h"
#include "ltc_backend/graph/interpreter/trial_graph.h"
#include "ltc_backend/waiting.h"

#include <ATen/EmptyTensor.h>

#include <mutex>
#include <set>

namespace ltc::backend {

static std::atomic<VerifyHook> verifyHook{nullptr};

void setVerifyHook(VerifyHook hook) { verifyHook = hook; }

namespace {
/// Graphs, for any thread.
class GraphSet {
public:
  bool contains(Hash128 key) {
    std::lock_guard lock(mutex);
    return keys.contains(key);
  }
  /// False if it was there.
  bool insert(Hash128 key) {
    std::lock_guard lock(mutex);
    return keys.insert(key).second;
  }

private:
  std::mutex mutex;
  std::set<Hash128> keys;
};
} // namespace

static GraphSet &verified() {
  static auto *all = new GraphSet;
  return *all;
}

static bool isToVerify(Hash128 key) {
  return settings().verify && verifyHook.load() && !verified().contains(key);
}

/// Says once what detect_nan does not look at: some ops have a kernel on the
/// device alone.
static void tellUnseen(const std::string &graph, Hash128 key,
                       const Error &why) {
  static auto *told = new GraphSet;
  if (told->insert(key))
    log(LogLevel::Warn, Stage::Execute,
        "detect_nan does not look at " + graph +
            " from this op on: " + why.message);
}

bool isChecked(Hash128 key) {
  return isToVerify(key) || settings().detect_nan != "off";
}

static Result<at::Tensor> onHost(Engine &engine, const BufferPtr &buffer) {
  const TensorType &type = buffer->type();
  at::Tensor copy = at::detail::empty_cpu(type.dims, toScalarType(type.dtype));
  if (Status status = engine.download(buffer, copy.mutable_data_ptr()); !status)
    return status.takeError();
  return copy;
}

static at::Tensor bitsOf(const LaunchArgument &number) {
  at::Tensor bits = at::detail::empty_cpu({}, at::kLong);
  *bits.mutable_data_ptr<int64_t>() = number.integer;
  return bits;
}

namespace {
class CheckedLaunch {
public:
  CheckedLaunch(Engine &engine, Graph graph, Hash128 key,
                std::vector<LaunchArgument> arguments,
                std::shared_ptr<const void> kept)
      : engine(engine), run{std::move(graph), key, {}, {}},
        arguments(std::move(arguments)), kept(std::move(kept)) {}

  Result<std::vector<BufferPtr>> launch(const ExecutablePtr &executable);

private:
  Status takeInputs();
  Status copyDonated();
  std::optional<Error> findNan() const;
  std::vector<BufferPtr> fail(Error error);

  Engine &engine;
  VerifiedRun run;
  std::vector<LaunchArgument> arguments;
  std::shared_ptr<const void> kept;
};
} // namespace

Status CheckedLaunch::takeInputs() {
  for (const LaunchArgument &argument : arguments) {
    if (!argument.buffer) {
      run.inputs.push_back(bitsOf(argument));
      continue;
    }
    Result<at::Tensor> copy = onHost(engine, argument.buffer);
    if (!copy)
      return copy.takeError();
    run.inputs.push_back(std::move(*copy));
  }
  return {};
}

/// What the program may write over is a copy from here on.
Status CheckedLaunch::copyDonated() {
  for (const GraphOutput &output : run.graph.outputs) {
    if (!output.donated)
      continue;
    LaunchArgument &argument = arguments[*output.donated];
    auto copy = engine.upload(argument.buffer->type(),
                              run.inputs[*output.donated].const_data_ptr());
    if (!copy)
      return copy.takeError();
    argument.buffer = std::move(*copy);
  }
  return {};
}

std::optional<Error> CheckedLaunch::findNan() const {
  const std::string &kind = settings().detect_nan;
  if (kind == "off")
    return std::nullopt;
  Status status =
      TrialGraph(run.graph).lookForNan(run.inputs, /*orInf=*/kind == "all");
  if (status)
    return std::nullopt;
  const std::string graph = graphName(run.key, run.graph.nodes.size());
  Error error = status.takeError();
  if (error.code != ErrorCode::NotFinite) {
    tellUnseen(graph, run.key, error);
    return std::nullopt;
  }
  error.message += "; in " + graph;
  return error;
}

std::vector<BufferPtr> CheckedLaunch::fail(Error error) {
  std::vector<TensorType> types;
  for (const GraphOutput &output : run.graph.outputs)
    types.push_back(run.graph.typeOf(output.value).tensor);
  return engine.fail(types, std::move(error), kept);
}

Result<std::vector<BufferPtr>>
CheckedLaunch::launch(const ExecutablePtr &executable) {
  if (Status status = takeInputs(); !status)
    return status.takeError();
  if (std::optional<Error> error = findNan())
    return fail(std::move(*error));
  if (!isToVerify(run.key))
    return engine.launch(executable, std::move(arguments), kept);
  if (Status status = copyDonated(); !status)
    return status.takeError();
  auto buffers = engine.launch(executable, std::move(arguments), kept);
  if (!buffers)
    return buffers;
  for (const BufferPtr &buffer : *buffers) {
    waitUninterrupted(*buffer);
    if (buffer->failure())
      return buffers; // that is its own error
    Result<at::Tensor> copy = onHost(engine, buffer);
    if (!copy)
      return copy.takeError();
    run.results.push_back(std::move(*copy));
  }
  if (std::optional<Error> wrong = verifyHook.load()(run))
    return fail(std::move(*wrong));
  verified().insert(run.key);
  return buffers;
}

Result<std::vector<BufferPtr>>
launchChecked(Engine &engine, const ExecutablePtr &executable, Graph graph,
              Hash128 key, std::vector<LaunchArgument> arguments,
              std::shared_ptr<const void> kept) {
  return CheckedLaunch(engine, std::move(graph), key, std::move(arguments),
                       std::move(kept))
      .launch(executable);
}

} // namespace ltc::backend
