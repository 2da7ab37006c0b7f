//===- real_host.cpp - The plugin behind torch_ltc's own runtime ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "real_host.h"

#include "ltc/cpu_kernels.h"
#include "ltc/devices.h"
#include "ltc/settings.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace conformance {

using namespace ltc;

namespace {

std::string besideTheRuntime(const std::string &file) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&ltc::deviceCount), &info))
    return file;
  std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + file;
}

/// Of both: an option without a driver's name would be the reference's too.
std::string optionsAsSetting() {
  std::string all;
  for (const ltc_property &option : options())
    all += (all.empty() ? "" : ",") + std::string(driver().name) + "." +
           option.name + "=" + option.value;
  return all;
}

/// Why the runtime cannot be used, or "". Once.
std::string start() {
  for (const char *file : {"libltc_compiler.so", "libltc_driver_cpu.so"})
    if (access(besideTheRuntime(file).c_str(), R_OK) != 0)
      return std::string("there is no ") + file + " beside the runtime";
  kernels::install();
  for (auto [name, value] :
       {std::pair<const char *, std::string>("device", pluginPath() + ",cpu"),
        {"device_options", optionsAsSetting()},
        {"cache", "off"},
        {"tiers", "off"}})
    if (Status status = set(name, value); !status)
      return status.error().message;
  return "";
}

template <typename T> void append(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

std::string asBytes(const Value &value) {
  std::string bytes;
  for (double element : value.values)
    switch (value.type.tensor.dtype) {
    case DType::F32:
      append(bytes, float(element));
      break;
    case DType::F64:
      append(bytes, element);
      break;
    default:
      append(bytes, int64_t(element));
    }
  return bytes;
}

template <typename T> Values fromBytes(const std::string &bytes) {
  Values values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = double(element);
  }
  return values;
}

} // namespace

void RealHost::SetUp() {
  DeviceTest::SetUp();
  if (computesNothing())
    GTEST_SKIP() << "the device computes nothing";
  static const std::string why = start();
  if (!why.empty())
    GTEST_SKIP() << why;
  Result<uint32_t> count = deviceCount();
  ASSERT_TRUE(count) << count.error().message;
  Result<DeviceInfo> info = deviceInfo(0);
  ASSERT_TRUE(info) << info.error().message;
  ASSERT_EQ(info->driver, driver().name) << "the runtime leaves it out";
  engine = *engineFor(0);
  // The plugin may be the driver cpu itself.
  Result<Engine *> last = engineFor(*count - 1);
  ASSERT_TRUE(last) << last.error().message;
  reference = *last;
}

void RealHost::TearDown() {
  if (engine)
    EXPECT_TRUE(engine->synchronize());
  DeviceTest::TearDown();
}

Graph RealHost::parse(std::string_view text) {
  Result<Graph> graph = Graph::parse(text);
  EXPECT_TRUE(graph) << graph.error().message;
  EXPECT_TRUE(graph->verify());
  return *graph;
}

Value RealHost::made(const ValueType &type, uint64_t seed, int64_t bound) {
  Value value{type, {}};
  uint64_t state = (seed + 1) * 0x9e3779b97f4a7c15;
  for (int64_t i = 0; i < type.tensor.elements(); ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    double unit = double(state >> 11) * 0x1p-53;
    value.values.push_back(isFloat(type.tensor.dtype)
                               ? 2 * unit - 1
                               : std::floor(unit * double(bound)));
  }
  return value;
}

LaunchArgument RealHost::upload(Engine &on, const Value &value) {
  LaunchArgument argument;
  if (value.type.isScalar && value.type.tensor.dtype == DType::F64) {
    argument.real = value.values[0];
  } else if (value.type.isScalar) {
    argument.integer = int64_t(value.values[0]);
  } else {
    std::string bytes = asBytes(value);
    Result<BufferPtr> buffer = on.upload(value.type.tensor, bytes.data());
    EXPECT_TRUE(buffer) << buffer.error().message;
    argument.buffer = *buffer;
  }
  return argument;
}

Values RealHost::download(Engine &on, const BufferPtr &buffer) {
  std::string bytes(buffer->type().bytes(), '\0');
  Status status = on.download(buffer, bytes.data());
  EXPECT_TRUE(status) << status.error().message;
  if (!status)
    return {};
  switch (buffer->type().dtype) {
  case DType::F32:
    return fromBytes<float>(bytes);
  case DType::F64:
    return fromBytes<double>(bytes);
  default:
    return fromBytes<int64_t>(bytes);
  }
}

std::optional<std::vector<BufferPtr>>
RealHost::run(Engine &on, const Graph &graph,
              std::vector<LaunchArgument> arguments) {
  Result<ExecutablePtr> executable = on.compile(graph);
  Status first;
  if (executable) {
    auto launched = on.launch(*executable, std::move(arguments));
    if (launched)
      first = (*launched)[0]->wait();
    if (launched && first)
      return *launched;
    if (!launched)
      first = launched.takeError();
  } else {
    first = executable.takeError();
  }
  if (first.error().code == ErrorCode::Unsupported)
    [&] { GTEST_SKIP() << first.error().message; }();
  else
    ADD_FAILURE() << first.error().str();
  return std::nullopt;
}

void RealHost::expectEqual(std::string_view text, double tolerance,
                           int64_t bound) {
  Graph graph = parse(text);
  std::vector<Values> found[2];
  Engine *engines[] = {engine, reference};
  for (int i = 0; i < 2; ++i) {
    std::vector<LaunchArgument> arguments;
    for (size_t n = 0; n < graph.inputs.size(); ++n)
      arguments.push_back(upload(*engines[i], made(graph.inputs[n], n, bound)));
    auto results = run(*engines[i], graph, std::move(arguments));
    if (!results)
      return;
    for (const BufferPtr &result : *results)
      found[i].push_back(download(*engines[i], result));
  }
  for (size_t n = 0; n < found[0].size(); ++n)
    expectClose(found[0][n], found[1][n], tolerance,
                "result " + std::to_string(n) + " of\n" + std::string(text));
}

void expectClose(const Values &found, const Values &wanted, double tolerance,
                 const std::string &what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i],
                tolerance * std::max(1.0, std::fabs(wanted[i])))
        << "element " << i << " of " << what;
}

Compiler *compiler() {
  static Compiler *found = []() -> Compiler * {
    void *library = dlopen(besideTheRuntime("libltc_compiler.so").c_str(),
                           RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return nullptr;
    auto get = reinterpret_cast<decltype(&ltc_compiler_get)>(
        dlsym(library, "ltc_compiler_get"));
    return get ? get() : nullptr;
  }();
  return found;
}

} // namespace conformance
