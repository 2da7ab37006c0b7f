//===- fake_device.cpp - A device and a compiler inside the test ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "fake_device.h"

#include "ltc/settings.h"

#include <algorithm>
#include <cmath>

using namespace ltc;

struct ltc_error {
  ltc_error_code code;
  std::string message;
  int64_t site;
};
struct ltc_buffer {
  std::vector<float> memory;
  size_t bytes;
};
struct ltc_device {
  int unused;
};
struct ltc_program {
  Artifact artifact;
};

namespace fake {

State &state() {
  static State state;
  return state;
}

static ltc_error *fail(ltc_error_code code, std::string message) {
  return new ltc_error{code, std::move(message), -1};
}

static ltc_error *alloc(ltc_device *, size_t bytes, ltc_buffer **buffer) {
  if (bytes > state().failAbove)
    return fail(LTC_OUT_OF_MEMORY, "the fake device is full");
  ++state().buffers;
  ++state().allocations;
  // The bodies work on four elements, whatever the sizes are.
  size_t elements = std::max<size_t>(bytes / 4, 4);
  *buffer = new ltc_buffer{std::vector<float>(elements, NAN), bytes};
  return nullptr;
}

static ltc_error *run(ltc_device *, ltc_queue *, ltc_program *program,
                      const ltc_launch *launch) {
  const ltc_operand *operands = launch->operands;
  size_t count = launch->operand_count;
  State &all = state();
  const Artifact &artifact = program->artifact;
  Body body;
  {
    std::unique_lock lock(all.mutex);
    ++all.waitingAtGate;
    all.changed.notify_all();
    all.changed.wait(lock, [&] { return !all.gateClosed; });
    --all.waitingAtGate;
    all.order.push_back(artifact.kernels[0].name);
    all.arenas.push_back(launch->arena);
    all.symbols.emplace_back(launch->symbols,
                             launch->symbols + launch->symbol_count);
    auto found = all.bodies.find(artifact.kernels[0].name);
    if (found != all.bodies.end())
      body = found->second;
  }
  std::vector<float *> inputs, results;
  for (size_t i = 0; i < count; ++i)
    (i < artifact.inputs.size() ? inputs : results)
        .push_back(operands[i].buffer ? operands[i].buffer->memory.data()
                                      : nullptr);
  std::string failure = body ? body(inputs, results) : "";
  if (failure.starts_with("site"))
    return new ltc_error{LTC_OUT_OF_RANGE, "index out of range",
                         std::stoll(failure.substr(4))};
  return failure.empty() ? nullptr : fail(LTC_DEVICE_FAILED, failure);
}

static ltc_error *load(ltc_device *, ltc_bytes bytes, ltc_program **program) {
  auto artifact = Artifact::deserialize(
      {static_cast<const char *>(bytes.data), bytes.size});
  if (!artifact)
    return fail(LTC_INVALID_ARGUMENT, artifact.error().message);
  if (state().refuseLoads > 0) {
    --state().refuseLoads;
    return fail(LTC_UNSUPPORTED, "not on this device");
  }
  if (state().programs >= state().mostPrograms)
    return fail(LTC_OUT_OF_MEMORY, "no memory for a program");
  ++state().programs;
  *program = new ltc_program{std::move(*artifact)};
  return nullptr;
}

static const ltc_property *properties(ltc_device *, size_t *count) {
  static thread_local ltc_property all[] = {{"target", ""}, {"calls", "all"}};
  all[0].value = state().target.c_str();
  *count = std::size(all);
  return all;
}

static const ltc_plugin table = [] {
  ltc_plugin all = {};
  all.struct_size = sizeof(ltc_plugin);
  all.name = "fake";
  all.error_read = [](const ltc_error *error, ltc_error_info *info) {
    *info = {sizeof(*info), error->code, error->message.c_str(), error->site};
  };
  all.error_free = [](ltc_error *error) { delete error; };
  all.device_count = [](uint32_t *count) -> ltc_error * {
    *count = 1;
    return nullptr;
  };
  all.device_open = [](uint32_t, const ltc_property *, size_t,
                       ltc_device **device) -> ltc_error * {
    ++state().devices;
    *device = new ltc_device;
    return nullptr;
  };
  all.device_close = [](ltc_device *device) {
    --state().devices;
    delete device;
  };
  all.properties = properties;
  all.buffer_alloc = alloc;
  all.buffer_free = [](ltc_device *, ltc_buffer *buffer) {
    --state().buffers;
    delete buffer;
  };
  all.buffer_write = [](ltc_device *, ltc_queue *, ltc_buffer *buffer, size_t,
                        ltc_bytes data) -> ltc_error * {
    if (data.data)
      std::memcpy(buffer->memory.data(), data.data, data.size);
    else
      std::memset(buffer->memory.data(), 0, data.size);
    return nullptr;
  };
  all.buffer_read = [](ltc_device *, ltc_queue *, ltc_buffer *buffer, size_t,
                       void *data, size_t bytes) -> ltc_error * {
    std::memcpy(data, buffer->memory.data(), bytes);
    return nullptr;
  };
  all.memory = [](ltc_device *, ltc_memory *out, int32_t) {
    *out = {sizeof(*out), size_t(state().buffers.load()), 0, 0};
  };
  all.program_load = load;
  all.program_free = [](ltc_device *, ltc_program *program) {
    --state().programs;
    delete program;
  };
  all.program_run = run;
  all.buffer_host_pointer = [](ltc_device *, ltc_buffer *buffer) -> void * {
    return state().hostReachable ? buffer->memory.data() : nullptr;
  };
  return all;
}();

Gate::Gate() {
  std::lock_guard lock(state().mutex);
  state().gateClosed = true;
}

void Gate::open() {
  std::lock_guard lock(state().mutex);
  state().gateClosed = false;
  state().changed.notify_all();
}

void Gate::awaitArrival() {
  std::unique_lock lock(state().mutex);
  state().changed.wait(lock, [] { return state().waitingAtGate > 0; });
}

Result<Artifact> FakeCompiler::compile(const Graph &graph,
                                       const CompileOptions &options) {
  ++compiles;
  {
    std::lock_guard lock(state().mutex);
    lastOptions = options;
  }
  if (during)
    during();
  if (refusesSymbols && graph.isDynamic())
    return Error{ErrorCode::Unsupported,
                 Stage::Lower,
                 "dim 0 of test::op: not for dynamic sizes",
                 "test::op",
                 {},
                 ""};
  if (failing || (failsAtLoops && options.optimizations.loops))
    return Error{
        ErrorCode::CompileFailed, Stage::Lower, "no such row", "", {}, ""};
  Artifact artifact;
  artifact.compiler = identity();
  artifact.target = options.target.str();
  artifact.blobs = {{"fake", std::string(1000, 'c')}};
  artifact.kernels = {{graph.nodes[0].op, "pointwise", 0}};
  artifact.steps.resize(3);
  artifact.arena = {int64_t(arenaBytes.load())};
  artifact.inputs = graph.inputs;
  artifact.formulas = graph.formulas;
  artifact.symbols = uint32_t(graph.symbols.size());
  artifact.errorSites = {{"test::site", 0, ""}};
  artifact.calls = {{graph, 0}};
  for (const GraphOutput &output : graph.outputs) {
    artifact.results.push_back(graph.typeOf(output.value).tensor);
    artifact.donated.push_back(output.donated);
  }
  artifact.graphText = graph.str(SourceLines::Omit);
  return artifact;
}

Graph graphOf(const std::string &op, size_t inputs,
              std::optional<uint32_t> donates, int64_t elements) {
  Graph graph;
  TensorType type{DType::F32, {elements}};
  Node node;
  node.op = "test::" + op;
  for (size_t i = 0; i < inputs; ++i) {
    graph.inputs.push_back({type, false});
    node.arguments.push_back({"x" + std::to_string(i), ValueId(i)});
  }
  node.results = {type};
  node.source = internSource({"user.py", 12, "f"});
  graph.nodes = {node};
  graph.outputs = {{ValueId(inputs), donates}};
  return graph;
}

EngineTest::EngineTest() {
  State &all = state();
  all.order.clear();
  all.arenas.clear();
  all.symbols.clear();
  all.failAbove = SIZE_MAX;
  all.hostReachable = true;
  all.refuseLoads = 0;
  all.mostPrograms = INT_MAX;
  all.target = "cpu:a-triple:a-cpu:+a,-b";
  all.allocations = 0;
  all.bodies.clear();
  all.bodies["test::inc"] = [](auto &inputs, auto &results) {
    for (int i = 0; i < 4; ++i)
      results[0][i] = inputs[0][i] + 1;
    return "";
  };
  all.bodies["test::add"] = [](auto &inputs, auto &results) {
    for (int i = 0; i < 4; ++i)
      results[0][i] = inputs[0][i] + inputs[1][i];
    return "";
  };
  all.bodies["test::fail"] = [](auto &, auto &) { return "it broke"; };
  all.bodies["test::site"] = [](auto &, auto &) { return "site0"; };
  all.bodies["test::call"] = [](auto &, auto &) { return "site1"; };
  all.bodies["test::nowhere"] = [](auto &, auto &) { return "site2"; };
  EXPECT_TRUE(set("cache", "off"));
  engine = openEngine();
}

std::unique_ptr<runtime::DeviceEngine> EngineTest::openEngine() {
  static const runtime::Driver driver = {"fake", &table};
  auto device = runtime::Device::open(driver, 0);
  return std::make_unique<runtime::DeviceEngine>(
      std::move(*device),
      runtime::CompilerSource{
          [this]() -> Result<Compiler *> { return &compiler; },
          [this] { return compiler.identity(); }});
}

EngineTest::~EngineTest() {
  engine.reset();
  EXPECT_EQ(state().buffers, 0) << "buffers leaked";
  EXPECT_EQ(state().programs, 0) << "programs leaked";
  EXPECT_EQ(state().devices, 0) << "the device was not closed";
}

ExecutablePtr EngineTest::program(const std::string &op, size_t inputs,
                                  std::optional<uint32_t> donates) {
  auto executable = engine->compile(graphOf(op, inputs, donates));
  EXPECT_TRUE(executable) << (executable ? "" : executable.error().str());
  return executable ? *executable : nullptr;
}

BufferPtr EngineTest::upload(float value) {
  float values[4] = {value, value, value, value};
  auto buffer = engine->upload({DType::F32, {4}}, values);
  EXPECT_TRUE(buffer) << (buffer ? "" : buffer.error().str());
  return buffer ? *buffer : nullptr;
}

BufferPtr EngineTest::launch(const ExecutablePtr &executable,
                             std::vector<BufferPtr> buffers) {
  std::vector<LaunchArgument> arguments;
  for (BufferPtr &buffer : buffers)
    arguments.push_back({std::move(buffer), {}});
  buffers.clear();
  auto results = engine->launch(executable, std::move(arguments));
  EXPECT_TRUE(results) << (results ? "" : results.error().str());
  return results ? (*results)[0] : nullptr;
}

float EngineTest::read(const BufferPtr &buffer) {
  float values[4] = {};
  Status status = engine->download(buffer, values);
  EXPECT_TRUE(status) << (status ? "" : status.error().str());
  EXPECT_TRUE(values[0] == values[1] && values[0] == values[2] &&
              values[0] == values[3]);
  return status ? values[0] : NAN;
}

std::string withoutGraph(const std::string &message) {
  size_t end = message.find("; in graph ");
  EXPECT_NE(end, std::string::npos) << message;
  return message.substr(0, end);
}

} // namespace fake
