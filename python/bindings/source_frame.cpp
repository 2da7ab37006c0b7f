//===- source_frame.cpp - The user's Python line that runs now --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each code object carries what we know of it in its co_extra slot: whether it
// is the user's, and a SourceId for each place met. The slot dies with the code
// object, so nothing is looked up by an address that could be used again.
//
//===----------------------------------------------------------------------===//
#include "interpreter_frame.h" // first: it decides what Python.h declares

#include "source_frame.h"

#include <array>
#include <filesystem>
#include <memory>
#include <unordered_map>

namespace ltc::python {
namespace {

struct CodeFacts {
  bool users = false;
  std::unordered_map<int, SourceId> places; ///< by Frame::unit()
  int lastUnit = -1; ///< a loop asks for the same few places
  SourceId lastId = 0;
};

std::vector<std::string> insideFolders;
Py_ssize_t extraSlot = -1;

std::string utf8(PyObject *string) {
  const char *text = string ? PyUnicode_AsUTF8(string) : nullptr;
  if (!text)
    PyErr_Clear();
  return text ? text : "";
}

bool isUsers(const std::string &file) {
  if (file.starts_with("<frozen ") || file.starts_with("<eval_with_key>"))
    return false;
  for (const std::string &folder : insideFolders)
    if (file.starts_with(folder))
      return false;
  return true;
}

CodeFacts *factsOf(PyCodeObject *code) {
  void *extra = nullptr;
  auto *object = reinterpret_cast<PyObject *>(code);
  if (_PyCode_GetExtra(object, extraSlot, &extra) == 0 && extra)
    return static_cast<CodeFacts *>(extra);
  auto facts = std::make_unique<CodeFacts>();
  facts->users = isUsers(utf8(code->co_filename));
  if (_PyCode_SetExtra(object, extraSlot, facts.get()) != 0) {
    PyErr_Clear();
    return nullptr;
  }
  return facts.release();
}

/// Below the working directory a path reads better without it.
std::string shortened(std::string file) {
  std::error_code ignored;
  std::string folder = std::filesystem::current_path(ignored).string() + "/";
  return file.starts_with(folder) ? file.substr(folder.size()) : file;
}

SourceId idOf(CodeFacts &facts, PyCodeObject *code, int unit) {
  if (facts.lastUnit == unit && facts.lastId)
    return facts.lastId;
  SourceId &id = facts.places[unit];
  if (!id) {
    Source source;
    source.file = shortened(utf8(code->co_filename));
    source.line = uint32_t(std::max(lineOf(code, unit), 0));
#if PY_VERSION_HEX >= 0x030B0000
    source.function = utf8(code->co_qualname);
#else
    source.function = utf8(code->co_name);
#endif
    id = internSource(source);
  }
  facts.lastUnit = unit;
  return facts.lastId = id;
}

/// With the GIL. Calls seen(frame) for each frame up to the user's.
template <typename Seen> SourceId walk(PyThreadState *thread, Seen seen) {
  if (extraSlot < 0)
    return 0;
  for (Frame frame = Frame::top(thread); frame; frame = frame.back()) {
    seen(frame);
    PyCodeObject *code = frame.code();
    if (!code)
      continue;
    CodeFacts *facts = factsOf(code);
    if (facts && facts->users)
      return idOf(*facts, code, frame.unit());
  }
  return 0;
}

#ifdef LTC_INTERPRETER_FRAMES
/// Autograd runs nodes on the thread that called backward(), which keeps its
/// frames while it is without the GIL: they may be compared, not looked into.
struct Stopped {
  std::array<const void *, 12> places;
  size_t depth = 0; ///< 0: nothing remembered
  SourceId id = 0;

  bool matches(PyThreadState *thread) const {
    size_t at = 0;
    for (Frame frame = Frame::top(thread); frame && at < depth;
         frame = frame.back(), ++at)
      if (frame.place() != places[at])
        return false;
    return depth && at == depth;
  }
  void add(const Frame &frame) {
    if (depth < places.size())
      places[depth] = frame.place();
    ++depth;
  }
};
thread_local Stopped stopped;

SourceId sourceWithoutGil() {
  PyThreadState *thread = PyGILState_GetThisThreadState();
  if (!thread)
    return 0; // no Python on this thread
  if (stopped.matches(thread))
    return stopped.id;
  if (!Py_IsInitialized())
    return 0;
  PyGILState_STATE state = PyGILState_Ensure();
  Stopped found;
  found.id = walk(thread, [&](const Frame &frame) { found.add(frame); });
  if (found.depth > found.places.size())
    found.depth = 0; // too deep to remember
  stopped = found;
  PyGILState_Release(state);
  return found.id;
}
#else
SourceId sourceWithoutGil() { return 0; }
#endif

} // namespace

void setInsideFolders(std::vector<std::string> folders) {
  insideFolders = std::move(folders);
  if (extraSlot < 0)
    extraSlot = _PyEval_RequestCodeExtraIndex(
        [](void *facts) { delete static_cast<CodeFacts *>(facts); });
}

SourceId currentSource() {
  if (!PyGILState_Check())
    return sourceWithoutGil();
  return walk(PyThreadState_Get(), [](const Frame &) {});
}

} // namespace ltc::python
