//===- api.cpp - aot.h ------------------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "aot/aot_errors.h"
#include "aot/heeding.h"
#include "aot/model.h"

#include <new>

using namespace ltc;

struct ltc_aot_entry {
  aot::Model *model;
  aot::Entry *entry;
};

struct ltc_aot_model {
  std::unique_ptr<aot::Model> model;
  std::vector<ltc_aot_entry> entries;
};

namespace {

struct LastError {
  int code = LTC_AOT_OK;
  std::string text;
};

LastError &lastError() {
  thread_local LastError error;
  return error;
}

int codeOf(ErrorCode code) {
  switch (code) {
  case ErrorCode::InvalidArgument:
    return LTC_AOT_INVALID_ARGUMENT;
  case ErrorCode::Unsupported:
    return LTC_AOT_UNSUPPORTED;
  case ErrorCode::OutOfRange:
    return LTC_AOT_OUT_OF_RANGE;
  case ErrorCode::OutOfMemory:
    return LTC_AOT_OUT_OF_MEMORY;
  case ErrorCode::Interrupted:
    return LTC_AOT_INTERRUPTED;
  default:
    return LTC_AOT_FAILED;
  }
}

int fail(const Error &error) {
  LastError &last = lastError();
  last = {codeOf(error.code), error.message};
  if (!error.hint.empty())
    last.text += "; " + error.hint;
  return last.code;
}

/// The code of what `call` returns or throws: memory or threads may run out.
template <typename Call> int guarded(Call call) {
  try {
    Status status = call();
    return status ? LTC_AOT_OK : fail(status.error());
  } catch (const std::bad_alloc &) {
    return fail(aot::failed(ErrorCode::OutOfMemory, "out of memory"));
  } catch (const std::exception &error) {
    return fail(aot::failed(ErrorCode::DeviceFailed, error.what()));
  }
}

template <typename Open> ltc_aot_model *open(Open openModel) {
  std::unique_ptr<ltc_aot_model> opened;
  guarded([&]() -> Status {
    Result<std::unique_ptr<aot::Model>> model = openModel();
    if (!model)
      return model.takeError();
    opened.reset(new ltc_aot_model{std::move(*model), {}});
    for (const auto &entry : opened->model->entries())
      opened->entries.push_back({opened->model.get(), entry.get()});
    return {};
  });
  return opened.release();
}

const ltc_aot_value *valueAt(const std::vector<ltc_aot_value> &values,
                             uint32_t number) {
  return number < values.size() ? &values[number] : nullptr;
}

} // namespace

uint32_t ltc_aot_version(void) { return LTC_AOT_VERSION; }

const char *ltc_aot_error(void) { return lastError().text.c_str(); }

int ltc_aot_error_code(void) { return lastError().code; }

void ltc_aot_heed_interrupts(int heed) { aot::heedInterrupts(heed); }

void ltc_aot_use_threads(uint32_t count) { aot::useThreads(count); }

int ltc_aot_has_target(const char *name) {
  return name && aot::hasTarget(name);
}

ltc_aot_model *ltc_aot_open(const char *path) {
  return open([&]() -> Result<std::unique_ptr<aot::Model>> {
    if (!path)
      return aot::invalid("a path is needed to open a bundle, and it is null");
    return aot::Model::open(path);
  });
}

ltc_aot_model *ltc_aot_open_memory(const void *bytes, size_t size) {
  return open([&] {
    return aot::Model::openMemory({static_cast<const char *>(bytes), size});
  });
}

void ltc_aot_close(ltc_aot_model *model) { delete model; }

const char *ltc_aot_target(const ltc_aot_model *model) {
  return model->model->target().c_str();
}

uint32_t ltc_aot_entry_count(const ltc_aot_model *model) {
  return uint32_t(model->entries.size());
}

const ltc_aot_entry *ltc_aot_entry_at(const ltc_aot_model *model,
                                      uint32_t number) {
  return number < model->entries.size() ? &model->entries[number] : nullptr;
}

const ltc_aot_entry *ltc_aot_find(const ltc_aot_model *model,
                                  const char *name) {
  const ltc_aot_entry *wanted = nullptr;
  guarded([&]() -> Status {
    if (!name)
      return aot::invalid("the name of an entry is needed, and it is null");
    std::string names;
    for (const ltc_aot_entry &entry : model->entries) {
      const std::string &found = entry.entry->described.name;
      if (found == name)
        wanted = &entry;
      names += (names.empty() ? "" : ", ") + found;
    }
    if (!wanted)
      return aot::invalid("the bundle has no entry " + std::string(name) +
                          ", but " + names);
    return {};
  });
  return wanted;
}

const char *ltc_aot_entry_name(const ltc_aot_entry *entry) {
  return entry->entry->described.name.c_str();
}

const char *ltc_aot_entry_notes(const ltc_aot_entry *entry) {
  return entry->entry->described.notes.c_str();
}

uint32_t ltc_aot_input_count(const ltc_aot_entry *entry) {
  return uint32_t(entry->entry->inputs.size());
}

uint32_t ltc_aot_output_count(const ltc_aot_entry *entry) {
  return uint32_t(entry->entry->outputs.size());
}

const ltc_aot_value *ltc_aot_input(const ltc_aot_entry *entry,
                                   uint32_t number) {
  return valueAt(entry->entry->inputs, number);
}

const ltc_aot_value *ltc_aot_output(const ltc_aot_entry *entry,
                                    uint32_t number) {
  return valueAt(entry->entry->outputs, number);
}

int ltc_aot_output_sizes(const ltc_aot_entry *entry,
                         const ltc_aot_tensor *inputs, uint32_t output,
                         int64_t *sizes) {
  return guarded(
      [&] { return entry->entry->outputSizes(inputs, output, sizes); });
}

int ltc_aot_run(const ltc_aot_entry *entry, const ltc_aot_tensor *inputs,
                const ltc_aot_tensor *outputs) {
  return guarded(
      [&] { return entry->model->run(*entry->entry, inputs, outputs); });
}

void ltc_aot_reset(ltc_aot_model *model) { model->model->reset(); }

void ltc_aot_seed(ltc_aot_model *model, uint64_t seed) {
  model->model->setSeed(seed);
}
