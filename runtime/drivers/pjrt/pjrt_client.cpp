//===- pjrt_client.cpp - A plugin's devices, arrays and code -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pjrt_client.h"
#include "pjrt_options.h"

#include <map>
#include <mutex>
#include <sys/stat.h>

namespace ltc::pjrt {

namespace {

/// Row-major: the layout {size, extensions, minor to major, their number,
/// tiles, their sizes, their number} with its kind, 0, behind it.
class RowMajor {
public:
  explicit RowMajor(size_t rank) {
    for (size_t i = rank; i-- > 0;)
      order.push_back(int64_t(i));
    layout[0] = 56;
    layout[2] = reinterpret_cast<uintptr_t>(order.data());
    layout[3] = rank;
  }
  void *get() { return whole.data(); }

  std::vector<int64_t> order;
  std::array<uint64_t, 12> whole = {80};
  uint64_t *layout = whole.data() + 2;
};

void varint(std::string &bytes, uint64_t number) {
  for (; number >= 0x80; number >>= 7)
    bytes += char(0x80 | (number & 0x7f));
  bytes += char(number);
}

std::string field(char tag, const std::string &bytes) {
  std::string all(1, tag);
  varint(all, bytes.size());
  return all + bytes;
}

/// xla.CompileOptionsProto: one replica, one partition, on this device. A tag
/// is the number of a field times 8, plus 2 for bytes.
std::string compileOptions(int64_t device) {
  std::string id;
  varint(id, uint64_t(device));
  std::string computation = field(0x0a, id);
  std::string assignment = "\x08\x01\x10\x01" + field(0x1a, computation);
  std::string build = "\x20\x01\x28\x01" + field(0x4a, assignment);
  return field(0x1a, build);
}

/// Tells builds apart whose version is only "cpu".
std::string fileVersion(const std::string &path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0)
    return "";
  return std::to_string(file.st_size) + "-" +
         std::to_string(file.st_mtim.tv_sec) + "-" +
         std::to_string(file.st_mtim.tv_nsec);
}

/// What may stand between the colons of a target.
std::string word(std::string_view text) {
  std::string made(text);
  for (char &c : made)
    if (c == ':' || c == '\n')
      c = '_';
  return made;
}

/// Of all executables, in the order of their uses.
uint64_t nextUse() {
  static std::atomic<uint64_t> uses = 0;
  return ++uses;
}

} // namespace

Array::~Array() {
  Struct done(handle);
  api.callAlways(Function::Buffer_Destroy, done);
}

Outcome Array::download(void *data) const {
  RowMajor layout(what.sizes.size());
  Struct copied(handle, layout.get(), data, what.bytes());
  if (Outcome outcome = api.call(Function::Buffer_ToHostBuffer, copied))
    return outcome;
  return api.await(copied.pointer<void *>(4));
}

Executable::Executable(const Api &api, void *handle, Signature signature)
    : api(api), handle(handle), what(std::move(signature)), used(nextUse()) {}

Executable::~Executable() {
  Struct done(handle);
  api.callAlways(Function::LoadedExecutable_Destroy, done);
}

Outcome Executable::run(std::span<const ArrayPtr> inputs,
                        std::vector<ArrayPtr> &results) const {
  used = nextUse();
  Struct options;
  std::vector<void *> given, made(what.results.size());
  for (const ArrayPtr &input : inputs)
    given.push_back(input->get());
  void **givenList = given.data(), **madeList = made.data();
  void *completed = nullptr;
  Struct launch(handle, options.data(), &givenList, 1, given.size(), &madeList,
                &completed);
  if (Outcome outcome = api.call(Function::LoadedExecutable_Execute, launch))
    return outcome;
  std::vector<ArrayPtr> owned;
  for (size_t i = 0; i < made.size(); ++i)
    owned.push_back(std::make_shared<Array>(api, made[i], what.results[i]));
  if (Outcome outcome = api.await(completed))
    return outcome;
  results = std::move(owned);
  return std::nullopt;
}

std::variant<Client *, Fault> Client::of(const std::string &argument) {
  static std::mutex mutex;
  static auto *clients = new std::map<std::string, Client *>;
  std::lock_guard lock(mutex);
  if (auto known = clients->find(argument); known != clients->end())
    return known->second;
  Argument read(argument);
  auto api = Api::open(read.path);
  if (Fault *fault = std::get_if<Fault>(&api))
    return std::move(*fault);
  auto made = std::make_unique<Client>();
  made->api = std::move(std::get<0>(api));
  made->libraryPath = read.path;
  if (Outcome outcome = made->start(read.options))
    return std::move(*outcome);
  return clients->emplace(argument, made.release()).first->second;
}

Client::~Client() {
  if (!client)
    return;
  Struct done(client);
  api->callAlways(Function::Client_Destroy, done);
}

Outcome Client::start(std::string_view options) {
  NamedValues named;
  if (Outcome outcome = named.read(options))
    return outcome;
  Struct created(named.data(), named.size());
  if (Outcome outcome = api->call(Function::Client_Create, created))
    return outcome;
  client = created.pointer<void *>(6);
  Struct name(client), version(client);
  if (Outcome outcome = api->call(Function::Client_PlatformName, name))
    return outcome;
  platformName = word(name.text(1));
  if (Outcome outcome = api->call(Function::Client_PlatformVersion, version))
    return outcome;
  versionText = word(version.text(1)) + "-0." + std::to_string(api->minor()) +
                "-" + fileVersion(libraryPath);
  return findDevices();
}

Outcome Client::findDevices() {
  Struct devices(client);
  if (Outcome outcome = api->call(Function::Client_AddressableDevices, devices))
    return outcome;
  for (size_t i = 0; i < devices[2]; ++i) {
    handles.push_back(devices.pointer<void **>(1)[i]);
    Struct described(handles.back());
    if (Outcome outcome = api->call(Function::Device_GetDescription, described))
      return outcome;
    Struct id(described[1]);
    if (Outcome outcome = api->call(Function::DeviceDescription_Id, id))
      return outcome;
    ids.push_back(int32_t(id[1]));
  }
  return std::nullopt;
}

Outcome Client::upload(size_t device, const TensorType &type, const void *data,
                       ArrayPtr &array) {
  constexpr int copiesDuringTheCall = 0;
  Struct made(client, data, type.element, type.sizes.data(), type.sizes.size(),
              0, 0, copiesDuringTheCall, handles[device]);
  if (Outcome outcome = api->call(Function::Client_BufferFromHostBuffer, made))
    return outcome;
  auto owned = std::make_shared<Array>(*api, made.pointer<void *>(12), type);
  if (Outcome outcome = api->await(made.pointer<void *>(11)))
    return outcome;
  array = std::move(owned);
  return std::nullopt;
}

Outcome Client::copy(const Array &from, size_t device, ArrayPtr &array) {
  Struct made(from.get(), handles[device]);
  if (Outcome outcome = api->call(Function::Buffer_CopyToDevice, made))
    return outcome;
  auto owned =
      std::make_shared<Array>(*api, made.pointer<void *>(2), from.type());
  Struct ready(owned->get());
  if (Outcome outcome = api->call(Function::Buffer_ReadyEvent, ready))
    return outcome;
  if (Outcome outcome = api->await(ready.pointer<void *>(1)))
    return outcome;
  array = std::move(owned);
  return std::nullopt;
}

Outcome Client::compile(size_t device, std::string_view module,
                        ExecutablePtr &made) {
  std::optional<Signature> signature = readSignature(module);
  if (!signature)
    return Fault{LTC_UNSUPPORTED,
                 "main has an argument or a result that PJRT has no type for"};
  static constexpr std::string_view format = "mlir";
  Struct program(module.data(), module.size(), format.data(), format.size());
  std::string options = compileOptions(ids[device]);
  Struct compiled(client, program.data(), options.data(), options.size());
  if (Outcome outcome = api->call(Function::Client_Compile, compiled))
    return outcome;
  made = std::make_shared<Executable>(*api, compiled.pointer<void *>(4),
                                      std::move(*signature));
  return std::nullopt;
}

} // namespace ltc::pjrt
